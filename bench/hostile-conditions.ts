import type { JsonObject, JsonValue } from '../src/json.ts';

/** A condition, and arguments that an agent chose to make it cost as much as it can. */
export interface HostileCall {
  readonly name: string;
  readonly when: string;
  readonly args: JsonObject;
}

const list = (length: number, element: (index: number) => JsonValue): JsonValue[] =>
  Array.from({ length }, (_, index) => element(index));
const keys = (length: number): JsonObject =>
  Object.fromEntries(list(length, (index) => [`k${index}`, index]) as [string, JsonValue][]);
const tree = (depth: number): JsonValue => (depth === 0 ? 'x' : list(3, () => tree(depth - 1)));
/** Distinct, so that none is known already; as many digits as a text may have. */
const numbers = list(400, (index) => `7.${'3'.repeat(90)}${index}`);

/** As a chain of that many terms. */
const chain = (length: number, separator: string, term: (index: number) => string): string =>
  Array.from({ length }, (_, index) => term(index)).join(separator);
/** A loop that reads nothing: what it is done with is bound outside, once. */
const OFTEN = `[${chain(190, ',', String)}]`;
const LONG = 'a'.repeat(8_000);
const repeated = (bound: string, term: (index: number) => string, length = 40): string =>
  `[${bound}].exists(x, ${OFTEN}.exists(i, ${chain(length, ' || ', term)}))`;
const doubled = chain(12, '', (index) => `.map(a${index}, [a${index}, a${index}])`);

/** The dearest that a search over every operator and function of the language found, each within 256 KiB of arguments. */
export const HOSTILE_CALLS: readonly HostileCall[] = [
  {
    name: 'products of long decimals',
    when: 'args.l.all(x, decimal(x) * decimal(x) * decimal(x) * decimal(x) > decimal("0"))',
    args: { l: numbers },
  },
  {
    name: 'quotients of long decimals',
    when: 'args.l.all(x, decimal(x) * decimal(x) * decimal(x) * decimal(x) / decimal(x) > decimal("0"))',
    args: { l: numbers },
  },
  { name: 'two wide maps', when: 'args.a == args.b', args: { a: keys(12_000), b: keys(12_000) } },
  { name: 'the keys of a wide map', when: 'args.m.exists(k, k == "q")', args: { m: keys(25_000) } },
  {
    name: 'the size of a wide map in a loop',
    when: 'args.l.exists(x, size(args.m) == 1)',
    args: { l: list(400, () => 1), m: keys(20_000) },
  },
  { name: 'two deep trees', when: 'args.a == args.b', args: { a: tree(8), b: tree(8) } },
  {
    name: 'loops in loops',
    when: 'args.l.exists(x, args.l.exists(y, args.l.exists(z, x == y && y == z && z == "q")))',
    args: { l: list(60, () => 'a') },
  },
  {
    name: 'elements that fail',
    when: 'args.l.exists(x, x.y == 1) || args.l.exists(x, x.z == 1)',
    args: { l: list(1_000, () => ({})) },
  },
  {
    name: 'patterns that make others backtrack',
    when: list(40, (index) => `args.t.matches("(a|b|ab)*c${index}")`).join(' || '),
    args: { t: 'ab'.repeat(4_000) },
  },
  {
    name: 'a search for a long text in long texts',
    when: 'args.l.exists(t, t.contains(args.u))',
    args: { l: list(30, () => 'a'.repeat(8_000)), u: `${'a'.repeat(4_000)}b` },
  },
  {
    name: 'one long text measured again and again',
    when: repeated('args.t', (index) => `size(x) == ${index}`),
    args: { t: '😀'.repeat(4_000) },
  },
  {
    name: 'one long text put in lower case again and again',
    when: repeated('args.t', (index) => `x.lowerAscii() == "${index}"`),
    args: { t: '中'.repeat(8_000) },
  },
  {
    name: 'one long number read again and again',
    when: repeated('args.t', () => 'int(x) == 1', 30),
    args: { t: '1'.repeat(8_000) },
  },
  {
    name: 'one long text joined to itself',
    when: `[args.t].exists(x, ${OFTEN}.exists(i, (${chain(60, '+', () => 'x')}) == (${chain(60, '+', () => 'x')} + "")))`,
    args: { t: LONG },
  },
  {
    name: 'one long list joined to itself',
    when: `[args.l].exists(x, ${OFTEN}.exists(i, size(${chain(40, '+', () => 'x')}) == 1))`,
    args: { l: list(1_000, (index) => index) },
  },
  {
    name: 'one long list searched again and again',
    when: repeated('args.l', (index) => `"q${index}" in x`),
    args: { l: list(1_000, (index) => `v${index}`) },
  },
  {
    name: 'one map compared again and again',
    when: `[args.a].exists(x, [args.b].exists(y, ${OFTEN}.exists(i, ${chain(40, ' || ', () => 'x == y')})))`,
    args: { a: keys(1_000), b: { ...keys(1_000), k999: 1 } },
  },
  {
    name: 'one long key looked up again and again',
    when: `[args.m].exists(x, x.exists(k, ${OFTEN}.exists(i, ${chain(40, ' || ', () => 'x[k] == 2')})))`,
    args: { m: { ['k'.repeat(250_000)]: 1 } },
  },
  {
    name: 'a list that holds itself many times',
    when: `[args.l]${doubled}.exists(z, ${chain(10, ' || ', () => 'z == [z]')})`,
    args: { l: list(100, (index) => index) },
  },
  {
    name: 'one long decimal negated again and again',
    when: repeated('decimal(args.d)', () => '-x == x'),
    args: { d: `7.${'3'.repeat(90)}` },
  },
  {
    name: 'far exponents that never meet',
    when: `[decimal("1e399")].exists(x, [decimal("1e-399")].exists(y, ${OFTEN}.exists(i, ${chain(20, ' || ', () => 'x + y == x')})))`,
    args: {},
  },
  {
    name: 'loops over what is no list',
    when: repeated('args.t', () => 'x.exists(z, z == 1)', 12),
    args: { t: 'a' },
  },
  {
    name: 'keys that are trees',
    when: `[args.l].exists(l, ${repeated('args.a', () => 'l[x] == 1', 30)})`,
    args: { l: [1], a: tree(6) },
  },
  {
    name: 'failures far down in a long text',
    when: `${' '.repeat(3_000)}args.l.exists(x, x > 1) || args.l.exists(x, x > 2) || args.l.exists(x, x > 3)`,
    args: { l: list(900, () => 'a') },
  },
  {
    name: 'many failures in one element',
    when: `args.l.exists(x, ${chain(60, ' || ', (index) => `x.y${index} == 1`)})`,
    args: { l: list(200, () => ({})) },
  },
];
