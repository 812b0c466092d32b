import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { CHANNEL_KINDS } from '../../channels/index.ts';
import { HOOK_KINDS } from '../../hooks/index.ts';
import { planBody } from '../../src/agent/plan-body.ts';
import { RUN_FAILURES } from '../../src/agent/run-failure.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { packageRoot } from '../../src/package-root.ts';
import { sampleEnvironment, sampleText } from '../config/fixtures.ts';
import { anchorsOf, blocksOf, type Page, pageAt, pages, relativeLinksOf } from './markdown.ts';

const all = pages();
const linesOf = ({ text }: Page): number => text.split('\n').length - 1;

describe('links', () => {
  it.each(all)('of $path lead to files that are there, and to headings that are in them', (page) => {
    const broken = relativeLinksOf(page).filter((target) => !resolves(page, target));
    expect(broken).toEqual([]);
  });

  it('are seen as broken where the file or the heading is missing', () => {
    const page = { path: 'docs/x.md', text: '# X\n' };
    expect(
      ['nowhere.md', '../README.md#no-such-heading', '#y'].map((target) => resolves(page, target)),
    ).toEqual([false, false, false]);
    expect(['../README.md', '#x', 'decisions/'].map((target) => resolves(page, target))).toEqual([
      true,
      true,
      true,
    ]);
  });

  function resolves(from: Page, target: string): boolean {
    const [file = '', anchor] = target.split('#');
    const path = file === '' ? from.path : normalize(join(dirname(from.path), file)).replaceAll('\\', '/');
    if (file !== '' && !existsSync(join(packageRoot, path))) return false;
    if (anchor === undefined) return true;
    return anchorsOf(file === '' ? from : pageAt(path)).includes(anchor);
  }
});

describe('the README', () => {
  it.each(['README.md', 'README.zh-CN.md'])('%s stays under 200 lines', (path) => {
    expect(linesOf(pageAt(path))).toBeLessThan(200);
  });

  it('says the same commands, configuration keys and calls in both languages', () => {
    const [english, chinese] = ['README.md', 'README.zh-CN.md'].map((path) => pageAt(path).text);
    for (const pattern of [/npm (?:run \S+|test)/g, /\/v1\/[^\s"]+/g, /^## /gm]) {
      expect(chinese?.match(pattern)).toEqual(english?.match(pattern));
    }
  });
});

describe('configurations in the documentation', () => {
  // These two are tested as a whole by test/config/documentation.test.ts.
  const elsewhere = ['docs/configuration.md', 'docs/policies.md'];
  const blocks = all
    .filter(({ path }) => !elsewhere.includes(path))
    .flatMap((page) => blocksOf(page, 'yaml').map((text) => ({ path: page.path, text })));
  const whole = blocks.filter(({ text }) => /^organization:/m.test(text));
  const passages = blocks.filter(({ text }) => !/^organization:/m.test(text));

  it('are found', () => {
    expect(whole.map(({ path }) => path)).toEqual(expect.arrayContaining(['README.md', 'README.zh-CN.md']));
    expect(passages.length).toBeGreaterThan(2);
  });

  it.each(whole)('load without a word where $path shows a whole one', ({ text }) => {
    expect(load(text)).toEqual({ faults: [], warnings: [] });
  });

  it.each(passages)(
    'load in the place of the same entries of the sample where $path shows a passage',
    ({ text }) => {
      expect(load(stringify(placedInto(parse(sampleText), parse(text))))).toMatchObject({ faults: [] });
    },
  );

  function load(text: string) {
    const result = loadConfig({
      text,
      fileName: 'countersign.yaml',
      environment: {
        ...sampleEnvironment,
        DATABASE_URL: 'postgres://app@127.0.0.1/countersign',
        OWNER_DATABASE_URL: 'postgres://owner@127.0.0.1/countersign',
      },
      channelKinds: CHANNEL_KINDS,
      hookKinds: HOOK_KINDS,
    });
    return result.kind === 'faulty'
      ? { faults: result.faults, warnings: [] }
      : { faults: [], warnings: result.warnings };
  }

  type Mapping = Record<string, unknown>;

  /** Entries of a list are matched by their id; what the passage does not name stays. */
  function placedInto(sample: Mapping, passage: Mapping): Mapping {
    const placed = { ...sample };
    for (const [key, value] of Object.entries(passage)) {
      const before = placed[key];
      placed[key] =
        Array.isArray(value) && Array.isArray(before)
          ? [
              ...before.map((entry: Mapping) => ({ ...entry, ...value.find(({ id }) => id === entry.id) })),
              ...value.filter(({ id }) => !before.some((entry: Mapping) => entry.id === id)),
            ]
          : value;
    }
    return placed;
  }
});

describe('plans in the documentation', () => {
  const bodies = blocksOf(pageAt('docs/agents.md'), 'sh').flatMap((block) =>
    [...block.matchAll(/-d '(\{[^']+\})'/g)].map(([, body]) => JSON.parse(body ?? '')),
  );

  it('are plans that the service takes', () => {
    const alone = blocksOf(pageAt('docs/agents.md'), 'json').map((block) => JSON.parse(block));
    const plans = [...bodies.map(({ plan }) => plan), ...alone].filter((plan) => plan !== undefined);
    expect(plans).toHaveLength(3);
    for (const plan of plans) expect(() => planBody.parse(plan)).not.toThrow();
  });
});

describe('the glossary', () => {
  const section = pageAt('docs/architecture.md').text.split('## Glossary')[1] ?? '';
  const words = [...section.matchAll(/^\| \*\*(.+?)\*\* \| (.+) \|$/gm)].map(([, word]) => word ?? '');

  it('has each word once, in order', () => {
    expect(words).toEqual([...new Set(words)].sort());
  });

  it('has the words of the design', () => {
    expect(words).toEqual(
      expect.arrayContaining([
        ...['request', 'vote', 'decision', 'grant', 'claim', 'outcome', 'settlement', 'receipt', 'delivery'],
        ...[
          'card',
          'approver',
          'requester',
          'agent',
          'owner',
          'run',
          'invocation',
          'session',
          'hook',
          'gate',
        ],
        ...['policy', 'quorum', 'verification code', 'digest'],
      ]),
    );
  });
});

describe('docs/architecture.md', () => {
  const { text } = pageAt('docs/architecture.md');
  const migration = readFileSync(join(packageRoot, 'migrations', '0001_confirmations.sql'), 'utf8');

  it.each(['status', 'execution_status', 'state'])(
    'names every value that the column %s may have',
    (column) => {
      const [, values] = new RegExp(`\\(${column} in \\(([^)]+)\\)`).exec(migration) ?? [];
      const named = (values ?? '').split(',').map((value) => value.trim().replaceAll("'", ''));
      expect(named.length).toBeGreaterThan(3);
      for (const value of named) if (value !== 'none') expect(text).toMatch(new RegExp(`\\b${value}\\b`));
    },
  );
});

describe('docs/agents.md', () => {
  it('names every code of its own by which a run fails', () => {
    const [, table] = pageAt('docs/agents.md').text.split('## Why a run failed');
    const named = [...(table ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);
    expect(named).toEqual(expect.arrayContaining(Object.keys(RUN_FAILURES)));
  });
});

describe('docs/operations.md', () => {
  const { text } = pageAt('docs/operations.md');

  it('lists exactly the metrics that the code declares', () => {
    const declared = readdirSync(join(packageRoot, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) => readFileSync(join(packageRoot, 'src', name), 'utf8').match(METRIC) ?? [])
      .map((name) => name.slice(1));
    const described = [...text.matchAll(/^\| `(countersign_\w+)`/gm)].map(([, name]) => name);
    expect(declared.length).toBeGreaterThan(5);
    expect(described.sort()).toEqual([...new Set(declared)].sort());
  });

  const METRIC = /'countersign_[a-z_]+/g;
});

describe('commands', () => {
  const run = promisify(execFile);
  const help = async (...words: string[]): Promise<string> =>
    (
      await run(process.execPath, ['--import', 'tsx', 'src/cli/main.ts', ...words, '--help'], {
        cwd: packageRoot,
      })
    ).stdout;

  it('of the documentation are those that `--help` lists, and the other way round', async () => {
    const groups = await Promise.all([help(), help('audit'), help('policy'), help('channels')]);
    const listed = groups
      .flatMap((text) => [...(text.split('Commands:')[1] ?? '').matchAll(/^ {2}(\w+)/gm)])
      .map(([, name]) => name);
    const described = [
      ...pageAt('docs/operations.md').text.matchAll(/^\| `(serve|[a-z]+(?: [a-z]+)?)` \| /gm),
    ].flatMap(([, name]) => (name ?? '').split(' '));
    expect([...new Set(described)].sort()).toEqual(
      [...new Set(listed.filter((name) => name !== 'help'))].sort(),
    );
  });

  it('of npm are scripts of the package', () => {
    const { scripts } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const { path, text } of all) {
      for (const [, script] of text.matchAll(/npm run ([a-z]+)/g)) {
        expect(Object.keys(scripts), `npm run ${script} in ${path}`).toContain(script);
      }
    }
  });
});

describe('the index', () => {
  const index = pageAt('docs/README.md');

  it('leads to every page', () => {
    const linked = relativeLinksOf(index).map((target) => `docs/${target}`);
    const missing = all
      .map(({ path }) => path)
      .filter((path) => /^docs\/(?!README)/.test(path) && !linked.includes(path));
    expect(missing).toEqual([]);
  });

  it('keeps decisions short and numbered once', () => {
    const decisions = all.filter(({ path }) => path.startsWith('docs/decisions/'));
    const numbers = decisions.map(({ path }) => path.slice('docs/decisions/'.length).slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)]);
    for (const page of decisions) {
      expect(linesOf(page), page.path).toBeLessThanOrEqual(40);
      const number = Number(page.path.slice('docs/decisions/'.length).slice(0, 4));
      expect(page.text).toMatch(new RegExp(`^# ${number}\\. `));
    }
  });
});
