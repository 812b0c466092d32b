// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are references as a configuration writes them.
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../src/config/duration.ts';
import { expandEnvironment } from '../../src/config/expand-environment.ts';
import { faultsOf, load, loaded, sampleWith } from './fixtures.ts';

const minimal = 'organization: acme\n';

describe('what no database can store', () => {
  const message =
    'holds a NUL or half of a surrogate pair, which no database can store: write the text without it';

  it.each([
    ['a name', ['name: 李伟', 'name: "李\\0伟"'], `people[0].name ${message}`],
    ['half of a character', ['name: 李伟', 'name: "李\\uD83D伟"'], `people[0].name ${message}`],
    ['a group', ['groups: [finance]', 'groups: ["fin\\0ance"]'], `people[0].groups[0] ${message}`],
    ['the organization', ['organization: acme', 'organization: "ac\\uDE00me"'], `organization ${message}`],
    ['a key', ['organization: acme', 'organization: acme\n"a\\0b": 1'], ' has a key that is not plain text'],
  ] as const)('is refused in %s', (_, change, fault) => {
    expect(faultsOf(sampleWith(change))).toContain(fault);
  });

  it('is refused where it comes out of the environment', () => {
    expect(faultsOf('organization: ${NAME}', { NAME: 'ac\uD800me' })).toEqual([`organization ${message}`]);
  });

  it('is not a whole surrogate pair', () => {
    expect(faultsOf('organization: "ac\\uD83D\\uDE00me 😀"')).toEqual([]);
  });
});

describe('the environment', () => {
  const environment = {
    NAME: 'value',
    EMPTY: '',
    TRICKY: 'a: [b] # ${NAME} "quoted"\nnext: 1',
    YES: 'true',
    PORT: '9000',
  };
  const textOf = (text: string): unknown => {
    const expansion = expandEnvironment(text, environment);
    return expansion.kind === 'expanded' ? expansion.text : expansion.kind;
  };

  it.each([
    ['plain $NAME {x}', 'plain'],
    ['${NAME}', 'value'],
    ['a ${NAME} and ${NAME}', 'a value and value'],
    ['${MISSING:-fallback}', 'fallback'],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${MISSING:-}', 'absent'],
    ['${EMPTY}', 'absent'],
    ['x${MISSING:-}', 'x'],
    ['x${EMPTY}', 'faulty'],
    ['${MISSING}', 'faulty'],
    ['${NAME', 'faulty'],
    ['${}', 'faulty'],
    ['${NA ME}', 'faulty'],
    ['${NAME:+x}', 'faulty'],
    ['${constructor}', 'faulty'],
    ['$${NAME}', '${NAME}'],
    ['${MISSING:-a:-b}', 'a:-b'],
  ])('makes %j to %j', (text, expected) => {
    expect(textOf(text)).toBe(expected);
  });

  it('is put in as text: neither expanded again nor read as YAML', () => {
    const { config } = loaded(
      'organization: ${TRICKY}\ndataDir: ${YES}',
      environment as Record<string, string>,
    );
    expect(config.organization).toBe(environment.TRICKY);
    expect(config.dataDir).toBe('true');
  });

  it('may hold numbers and flags where these are wanted', () => {
    const text = `${minimal}listen: { port: "\${PORT}" }\nagents: [{ id: a, limits: { turns: "\${PORT:-5}" }, requireConfirmationForAll: "\${FLAG:-false}" }]\nmodels: { m: { baseUrl: "http://127.0.0.1:9/v1", apiKey: k, model: m, stream: "\${FLAG:-false}" } }`;
    const { config } = loaded(text, { PORT: '90' });
    expect(config.listen.port).toBe(90);
    expect(config.agents[0]).toMatchObject({ limits: { turns: 90 }, requireConfirmationForAll: false });
    expect(config.models.m).toMatchObject({ stream: false });
    expect(faultsOf(text, { PORT: '0x10' })).toContain('listen.port has to be a number');
    expect(faultsOf(text, { FLAG: 'yes', PORT: '1' })).toContain('models.m.stream has to be true or false');
  });
});

describe('durations', () => {
  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
    ['1.5h', null],
    ['-1s', null],
    ['1w', null],
    ['1h30m', null],
    ['', null],
    ['1 h', null],
    ['Infinity', null],
    ['9999999999s', null],
  ])('%j is %j', (text, expected) => {
    expect(parseDuration(text)).toBe(expected);
  });
});

describe('a file', () => {
  it('needs only an organization', () => {
    expect(loaded(minimal).config).toMatchObject({
      listen: { host: '127.0.0.1', port: 8787 },
      locale: 'en-US',
      timeZone: 'UTC',
      defaultPolicy: null,
      policies: [],
      agents: [],
    });
  });

  it.each([
    ['nothing', '', 'is empty'],
    ['a list', '- a', 'has to be a mapping'],
    ['a text', 'hello', 'has to be a mapping'],
    ['a bracket too few', 'organization: [acme', 'is not well-formed YAML'],
    ['two documents', 'a: 1\n---\nb: 2', 'is not well-formed YAML'],
    ['a tag that makes code', 'organization: !!js/function "x"', 'is not well-formed YAML'],
    ['a reference that YAML reads as a mapping', 'apiKeys: [{ key: ${A} }]', 'is not well-formed YAML'],
    ['an alias of nothing', 'organization: *nothing', 'is an alias of something that is not there'],
    ['a key that is no text', `${minimal}1: 2`, 'has a key that is not plain text'],
    [
      'a key that is a prototype',
      `${minimal}__proto__: { organization: evil }`,
      'has a key that is not plain text',
    ],
    ['a merge key', `base: &base { host: 0.0.0.0 }\n${minimal}listen: { <<: *base }`, 'is not a known key'],
  ])('of %s is refused', (_, text, message) => {
    expect(faultsOf(text).join('\n')).toContain(message);
  });

  it('says the line of a syntax fault, and does not quote it', () => {
    const result = load(`${minimal}dataDir: "the secret\n`);
    expect(result).toMatchObject({ kind: 'faulty', faults: [{ path: '', line: 3 }] });
    expect(JSON.stringify(result)).not.toContain('the secret');
  });

  it.each([
    ['behind a colon that is missing', 'apiKeys\n  - { id: a, key: "the secret" }\nlocale: en-US\n'],
    ['behind the sign of a block', 'apiKeys: | the secret\n'],
    ['with a sequence that YAML does not know', 'dataDir: "the secret\\q"\n'],
  ])('says the first syntax fault alone, and not the text %s', (_, text) => {
    const faults = faultsOf(`${minimal}${text}`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('is not well-formed YAML');
    expect(faults[0]).not.toContain('secret');
  });

  it('may use aliases, and knows the lines of what they stand for', () => {
    const text = `${minimal}listen: &address { port: 99999 }\noperations: *address\n`;
    const result = load(text);
    expect(result).toMatchObject({
      kind: 'faulty',
      faults: [
        { path: 'listen.port', line: 2 },
        { path: 'operations.port', line: 2 },
      ],
    });
  });
});

describe('a hostile file', () => {
  const timed = (text: string): { faults: string[]; elapsedMs: number } => {
    const start = performance.now();
    const faults = faultsOf(text);
    return { faults, elapsedMs: performance.now() - start };
  };
  const lines = (count: number, line: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => line(index)).join('\n');

  it.each([
    ['brackets', `a: ${'['.repeat(100_000)}`],
    ['closed brackets', `a: ${'['.repeat(50_000)}${']'.repeat(50_000)}`],
    ['indentation', lines(400, (index) => `${' '.repeat(index)}a:`)],
    ['dashes', '- '.repeat(100_000)],
    ['questions', '? '.repeat(100_000)],
  ])('nested deeply by %s is refused at once', (_, text) => {
    const { faults, elapsedMs } = timed(text);
    expect(faults).toEqual([' is nested more than 64 deep']);
    expect(elapsedMs).toBeLessThan(2_000);
  });

  it('of 100,000 keys, or of one key as often, is refused in seconds', () => {
    const many = timed(minimal + lines(100_000, (index) => `k${index}: 1`));
    expect(many.faults).toContain('k0 is not a known key');
    expect(many.faults.at(-1)).toContain('has more faults than are listed');
    expect(many.faults.length).toBe(1_001);
    expect(many.elapsedMs).toBeLessThan(20_000);
    expect(timed(minimal + lines(2_000, () => 'k: 1')).faults.length).toBe(1_001);
  });

  it('of aliases that multiply, or of one that holds itself, is refused', () => {
    const bomb = `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${lines(12, (index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`).join(',')}]`)}`;
    const { faults, elapsedMs } = timed(bomb);
    expect(faults.join('\n')).toContain('expands to too many values');
    expect(elapsedMs).toBeLessThan(10_000);
    expect(faultsOf('organization: &a [*a]').join('\n')).toContain('expands to too many values');
  });

  it('longer than a mebibyte is refused', () => {
    expect(faultsOf(`# ${'x'.repeat(1_100_000)}`)).toEqual([' is longer than 1048576 characters']);
  });

  it('with patterns and schemas that would backtrack loads or is refused quickly', () => {
    const text = `${minimal}externalTools: ["${'*a'.repeat(99)}", "${'a*'.repeat(99)}"]`;
    expect(timed(text).elapsedMs).toBeLessThan(2_000);
  });
});
