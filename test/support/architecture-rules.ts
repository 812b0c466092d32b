/** One source file: its path from the package root with `/`, and its text. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

interface Layer {
  /** Paths that start with this belong to the layer; the first that matches counts. */
  readonly prefix: string;
  /** Prefixes it may import beside itself; `leaf` stands for the leaf modules. */
  readonly mayImport: readonly string[];
  readonly wayOut: string;
}

/** Modules that depend on nothing of ours beside each other. */
const LEAVES = [
  'ids',
  'errors',
  'clock',
  'json',
  'locale',
  'verdict',
  'assert-never',
  'glob',
  'near-name',
  'rounds',
].map((name) => `src/${name}.ts`);

const DECLARE_A_PORT =
  'declare an interface here for what is needed, implement it in src/db or src/http, and wire both in src/main.ts';
const ANYTHING_IN_SRC = ['src/'];

/** Who may import whom. What is in no layer is a fault too, so that a new folder has to be given its place. */
const LAYERS: readonly Layer[] = [
  ...LEAVES.map((prefix) => ({
    prefix,
    mayImport: ['leaf'],
    wayOut: 'keep leaf modules free of everything else',
  })),
  { prefix: 'src/package-root.ts', mayImport: [], wayOut: 'keep it free of everything else' },
  { prefix: 'src/hook/', mayImport: ['leaf'], wayOut: DECLARE_A_PORT },
  { prefix: 'src/channel/', mayImport: ['leaf'], wayOut: DECLARE_A_PORT },
  { prefix: 'src/audit/', mayImport: ['leaf'], wayOut: DECLARE_A_PORT },
  {
    prefix: 'src/config/',
    mayImport: [
      'leaf',
      'src/package-root.ts',
      'src/hook/',
      'src/channel/',
      'src/confirmation/',
      'src/agent/',
    ],
    wayOut: 'let what needs the configuration read it, not the other way round',
  },
  {
    prefix: 'src/confirmation/',
    mayImport: ['leaf', 'src/hook/', 'src/channel/', 'src/audit/', 'src/config/'],
    wayOut: DECLARE_A_PORT,
  },
  {
    prefix: 'src/agent/',
    mayImport: ['leaf', 'src/hook/', 'src/channel/', 'src/audit/', 'src/config/', 'src/confirmation/'],
    wayOut: DECLARE_A_PORT,
  },
  {
    prefix: 'src/db/',
    mayImport: [
      'leaf',
      'src/package-root.ts',
      'src/hook/',
      'src/channel/',
      'src/audit/',
      'src/config/',
      'src/confirmation/',
      'src/agent/',
    ],
    wayOut: 'a store implements an interface; whoever calls it is wired in src/main.ts',
  },
  // The API and the pages are one surface in two folders.
  {
    prefix: 'src/http/',
    mayImport: [
      'leaf',
      'src/package-root.ts',
      'src/hook/',
      'src/channel/',
      'src/audit/',
      'src/config/',
      'src/confirmation/',
      'src/agent/',
      'src/console/',
    ],
    wayOut: 'take what the route calls as an interface, and hand the store in from src/main.ts',
  },
  {
    prefix: 'src/console/',
    mayImport: [
      'leaf',
      'src/package-root.ts',
      'src/http/',
      'src/audit/',
      'src/config/',
      'src/confirmation/',
      'src/agent/',
      'src/channel/',
    ],
    wayOut: 'take what the page shows as an argument',
  },
  // The platforms' stand-ins: what they check proves something only as long as they share nothing with the channels.
  {
    prefix: 'src/standin/',
    mayImport: ['leaf'],
    wayOut: 'write it again from the documentation of the platform',
  },
  {
    prefix: 'src/index.ts',
    mayImport: ANYTHING_IN_SRC,
    wayOut: 'export a name of src/; channels and hooks stay outside',
  },
  // The composition root and what starts it.
  ...['src/main.ts', 'src/service/', 'src/cli/', 'src/demo/'].map((prefix) => ({
    prefix,
    mayImport: [...ANYTHING_IN_SRC, 'channels/', 'hooks/'],
    wayOut: 'import from src, channels or hooks',
  })),
  { prefix: 'channels/index.ts', mayImport: ['src/channel/', 'leaf', 'channels/'], wayOut: 'keep it a list' },
  {
    prefix: 'hooks/',
    mayImport: ['leaf', 'src/hook/', 'src/confirmation/', 'src/audit/'],
    wayOut: 'ask for a port in src/hook/hook-ports.ts, which src/main.ts fills',
  },
];

/** A channel may import itself, and nothing of another channel. */
const layerOf = (path: string): Layer | undefined => {
  const channel = /^channels\/[^/]+\//.exec(path)?.[0];
  const wayOut =
    'put what the core needs to know into the contract in src/channel, and keep the rest in this folder';
  return (
    LAYERS.find(({ prefix }) => path.startsWith(prefix)) ??
    (channel ? { prefix: channel, mayImport: ['leaf', 'src/channel/'], wayOut } : undefined)
  );
};

/** Packages that one part alone knows, so that it can be replaced. */
const PACKAGE_HOMES: readonly { readonly name: RegExp; readonly homes: readonly string[] }[] = [
  { name: /^(drizzle-orm|pg|@electric-sql\/pglite)(\/|$)/, homes: ['src/db/'] },
  {
    name: /^(fastify|fastify-type-provider-zod)$|^@fastify\//,
    homes: ['src/http/', 'src/console/', 'src/demo/', 'src/standin/'],
  },
  { name: /^@slack\//, homes: ['channels/slack/'] },
  { name: /^@larksuiteoapi\//, homes: ['channels/feishu/'] },
  { name: /^openai(\/|$)/, homes: ['src/agent/'] },
];

const LINES_AT_MOST = 400;
const LINES_USUALLY = 250;

/** Everything in which the files break the rules, one sentence each: where, the rule, the way out. */
export function violationsIn(files: readonly SourceFile[]): string[] {
  return [...files.flatMap(violationsOf), ...sizeViolations(files)];
}

function violationsOf(file: SourceFile): string[] {
  return [
    ...nameViolations(file),
    ...importViolations(file),
    ...executeViolations(file),
    ...wordViolations(file),
  ];
}

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^'"`;]*?\sfrom\s)?\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g;

function importViolations({ path, text }: SourceFile): string[] {
  const layer = layerOf(path);
  if (!layer) {
    return [`${path}: this folder has no place in the dependency order. Way out: give it one in ${HERE}.`];
  }
  return [...text.matchAll(IMPORT)].flatMap(([, from, dynamic]) => {
    const target = from ?? dynamic ?? '';
    return target.startsWith('.') ? relativeViolations(path, target, layer) : packageViolations(path, target);
  });
}

function relativeViolations(path: string, target: string, layer: Layer): string[] {
  const imported = resolvePath(path, target);
  const faults: string[] = [];
  if (!/\.(ts|json)$/.test(target))
    faults.push(`${path}: imports '${target}' without its extension. Way out: end it in .ts.`);
  const allowed =
    imported.startsWith(layer.prefix) ||
    layer.mayImport.some((prefix) =>
      prefix === 'leaf' ? LEAVES.includes(imported) : imported.startsWith(prefix),
    );
  if (!allowed) {
    const may =
      layer.mayImport.map((prefix) => (prefix === 'leaf' ? 'leaf modules' : prefix)).join(', ') || 'nothing';
    faults.push(`${path}: imports ${imported}; ${layer.prefix} may import ${may}. Way out: ${layer.wayOut}.`);
  }
  return faults;
}

const packageViolations = (path: string, target: string): string[] =>
  PACKAGE_HOMES.filter(
    ({ name, homes }) => name.test(target) && !homes.some((home) => path.startsWith(home)),
  ).map(
    ({ homes }) =>
      `${path}: imports the package '${target}', which only ${homes.join(', ')} may know. Way out: go through their interface.`,
  );

/** `execute` is the method that runs a tool; the gate means nothing where a second place calls it. */
function executeViolations({ path, text }: SourceFile): string[] {
  if (!path.startsWith('src/agent/') || path === 'src/agent/invoke-tool.ts') return [];
  return linesMatching(text, /\.execute\(/).map(
    (line) =>
      `${path}:${line}: calls execute(); only src/agent/invoke-tool.ts runs a tool. Way out: call invokeTool.`,
  );
}

const FORBIDDEN_WORDS: readonly {
  readonly pattern: RegExp;
  readonly rule: string;
  readonly wayOut: string;
}[] = [
  {
    pattern: /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/,
    rule: 'an enum',
    wayOut: 'use a union of literals',
  },
  { pattern: /^\s*export\s+default\b/, rule: 'a default export', wayOut: 'export the name' },
  {
    pattern: /^\s*@ts-(ignore|nocheck)|\/\/\s*@ts-(ignore|nocheck)/,
    rule: 'a switched-off check',
    wayOut: 'mend the type',
  },
];
const ANY = /(:|\bas|<|\||,)\s*any\b(?=\s*[;,)>|&=[\]{}]|\s*$)/;
const REASON_FOR_ANY = /biome-ignore lint\/suspicious\/noExplicitAny: \S/;
const UNFINISHED = /\b(TODO|FIXME|XXX)\b/;

function wordViolations({ path, text }: SourceFile): string[] {
  const code = withoutComments(text);
  const lines = text.split('\n');
  return [
    ...linesMatching(code, ANY)
      .filter((line) => !REASON_FOR_ANY.test(lines[line - 2] ?? ''))
      .map((line) => `${path}:${line}: has any. Way out: say unknown and check it, or name the type.`),
    ...FORBIDDEN_WORDS.flatMap(({ pattern, rule, wayOut }) =>
      linesMatching(code, pattern).map((line) => `${path}:${line}: has ${rule}. Way out: ${wayOut}.`),
    ),
    ...linesMatching(text, UNFINISHED).map(
      (line) =>
        `${path}:${line}: is marked as unfinished. Way out: finish it, or file an issue and say what it does not do.`,
    ),
  ];
}

function nameViolations({ path }: SourceFile): string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const faults: string[] = [];
  if (!/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name))
    faults.push(`${path}: is not kebab-case. Way out: rename it.`);
  if (/^(utils?|helpers?|common|types|misc)\.ts$/.test(name)) {
    faults.push(
      `${path}: is a grab-bag. Way out: put each thing into a file named after it, beside its use.`,
    );
  }
  return faults;
}

function sizeViolations(files: readonly SourceFile[]): string[] {
  const sized = files.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }));
  const faults = sized
    .filter(({ lines }) => lines > LINES_AT_MOST)
    .map(
      ({ path, lines }) =>
        `${path}: has ${lines} lines; at most ${LINES_AT_MOST}. Way out: split it along its concepts.`,
    );
  const long = sized.filter(({ lines }) => lines > LINES_USUALLY);
  if (long.length > files.length / 10) {
    const names = long.map(({ path, lines }) => `${path} (${lines})`).join(', ');
    faults.push(
      `More than one file in ten is over ${LINES_USUALLY} lines: ${names}. Way out: split the longest.`,
    );
  }
  return faults;
}

const HERE = 'test/support/architecture-rules.ts';

function resolvePath(from: string, target: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Blanks comments, keeping the lines, so that prose may say "any". */
const withoutComments = (text: string): string =>
  text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|\s)\/\/.*$/gm, '$1');

const linesMatching = (text: string, pattern: RegExp): number[] =>
  text.split('\n').flatMap((line, index) => (pattern.test(line) ? [index + 1] : []));
