import { parseJson } from '../../../src/confirmation/arguments.ts';
import { compileCondition } from '../../../src/confirmation/condition.ts';
import { compileGlob, globsOverlap } from '../../../src/glob.ts';
import type { JsonObject } from '../../../src/json.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { startGate } from '../gate.ts';
import { percentile } from '../percentile.ts';
import { post } from '../post.ts';
import type { ChaosRow } from '../row.ts';

const MIB = 2 ** 20;
/** A loop that stands still for longer is held up. What the table asks for (50 ms) is printed: other processes decide about it. */
const HIGHEST_LAG_MS = 1_000;
/** Where the machine is busy with other things, the loop is late by itself. */
const LATER_BY = 10;
/** Of processor time. */
const LONGEST_WORK_MS = 50;

const fill = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length));
const asArgs = (args: string): string =>
  `{"tool":"bank__transfer","agent":"procurement","requester":"zhao.min","args":${args}}`;
const keys = (count: number): string => Array.from({ length: count }, (_, at) => `"k${at}":${at}`).join(',');

/** Bodies that cost a careless reader much; each is refused, or kept as it is and soon. */
const BODIES: readonly string[] = [
  asArgs(`{"a":"${fill('x', MIB - 200)}"}`),
  asArgs(`{"a":"${fill('x', 2 * MIB)}"}`),
  asArgs(`{"a":"${fill('\\u202e', 250_000)}"}`),
  asArgs(`{"a":[${fill('0,', MIB - 200)}0]}`),
  asArgs(`{"a":[${fill('1234567.12345678901234,', MIB - 200)}0]}`),
  asArgs(`{"a":[${fill('{},', MIB - 200)}{}]}`),
  asArgs(`{${keys(70_000)}}`),
  asArgs(`{${keys(4_500)}}`),
  asArgs(`{${fill('"a":1,', MIB - 200)}"a":1}`),
  asArgs(`{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`),
  asArgs(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
  asArgs(`{"a":${'['.repeat(500_000)}`),
  asArgs('{"__proto__":{"isAdmin":true}}'),
  asArgs('{"constructor":{"prototype":{"isAdmin":true}}}'),
  asArgs('{"a":{"\\u005f_proto__":1}}'),
  asArgs(`{"a":${'9'.repeat(500_000)}}`),
  asArgs(`{"a":1e${'9'.repeat(300)}}`),
  asArgs(`{"${fill('k', 200_000)}":1}`),
  `{"tool":"bank__${fill('a', 900_000)}","args":{},"agent":"procurement"}`,
  `{"tool":"bank__transfer","args":{},"agent":"procurement","requester":"zhao.min","metadata":{${keys(4_500)}}}`,
];

const LONG = 'a'.repeat(8_000);
const CONDITIONS: readonly string[] = [
  'args.a.matches("(a+)+$")',
  'args.a.matches("(a|aa)*b")',
  'args.a.matches("(.*)(.*)(.*)(.*)(.*)x")',
  'args.l.exists(x, args.l.exists(y, args.l.exists(z, x == y && y != z)))',
  'args.l.map(x, args.a).filter(x, x.contains("b")).size() > 1',
  'args.a.contains("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab")',
  'args.m.exists(k, k.matches("(a+)+$"))',
  'decimal(args.d) * decimal(args.d) * decimal(args.d) > decimal("1")',
];
const FACTS: JsonObject = {
  a: `${LONG}b!`,
  l: Array.from({ length: 1_000 }, (_, at) => `${at}`),
  m: Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`${'a'.repeat(30)}${at}`, 1])),
  d: '9'.repeat(100),
};

const BOMB = '*a'.repeat(100);

function evaluation(text: string): () => unknown {
  const condition = compileCondition(text);
  if (condition.kind === 'faulty') throw new Error(`${text}: ${condition.message}`);
  const facts = { tool: 't', args: FACTS, agent: '', requester: '', session: '', metadata: FACTS };
  return () => condition.evaluate(facts);
}

/** Processor time of one piece of work, the best of three: other processes do not count, nor does the first warming up. */
function processorMs(work: () => unknown): number {
  const once = () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  return Math.min(once(), once(), once());
}

export const hostileArguments: ChaosRow = {
  id: 'F21',
  title: '1 MiB, depth 10,000, 70,000 keys, __proto__; bombs for regular expressions and globs in policies',
  volume: { usual: 40, full: 500 },
  async run({ databaseUrl, rounds }) {
    const gate = await startGate(databaseUrl);
    const slow: string[] = [];
    let letIn = 0;
    let lost = 0;
    try {
      const health = `${gate.url}/healthz`;
      const alone = percentile(await measureLag(health, AbortSignal.timeout(1_500)), 0.99);
      const stop = new AbortController();
      const lags = measureLag(health, stop.signal);
      const kept = new Map<number, number>();
      for (let round = 0; round < rounds; round += 1) {
        const answer = await post(`${gate.url}/v1/confirmations`, {
          headers: { authorization: `Bearer ${KEYS.agent}`, 'content-type': 'application/json' },
          body: BODIES[round % BODIES.length] ?? '',
        });
        kept.set(answer.status, (kept.get(answer.status) ?? 0) + 1);
        // A connection may break where a body is refused before all of it was read.
        if (![0, 201, 400, 413, 422].includes(answer.status)) {
          letIn += 1;
          slow.push(`body ${round % BODIES.length}: ${answer.status}`);
        }
      }
      stop.abort();
      const lag = percentile(await lags, 0.99);
      if (lag >= Math.max(HIGHEST_LAG_MS, LATER_BY * alone))
        slow.push(`healthz p99 ${lag.toFixed(0)} ms, alone ${alone.toFixed(0)} ms`);
      if (({} as { isAdmin?: boolean }).isAdmin !== undefined) letIn += 1;

      const works: readonly (readonly [string, () => unknown])[] = [
        ...BODIES.map((body, at) => [`body ${at}`, () => parseJson(body, { maxDepth: 68 })] as const),
        ...CONDITIONS.map((text) => [text, evaluation(text)] as const),
        ['glob', () => compileGlob(BOMB).matches(`${'a'.repeat(20_000)}b`)],
        ['globs that overlap', () => globsOverlap(BOMB, '*b'.repeat(100))],
      ];
      let longest = 0;
      for (const [what, work] of works) {
        const tookMs = processorMs(work);
        longest = Math.max(longest, tookMs);
        if (tookMs > LONGEST_WORK_MS) slow.push(`${what}: ${tookMs.toFixed(0)} ms`);
      }
      lost += slow.length;
      const statuses = [...kept].map(([status, count]) => `${count}×${status || 'cut off'}`).join(' ');
      return {
        tried: rounds + works.length,
        lost,
        doubled: 0,
        letIn,
        note:
          slow.length > 0
            ? slow.join('; ')
            : `${statuses}; healthz p99 ${lag.toFixed(0)} ms beside it (${alone.toFixed(0)} ms alone); longest piece of work ${longest.toFixed(1)} ms`,
      };
    } finally {
      await gate.stop();
    }
  },
};

/** How long the service's loop keeps a trivial request waiting, every few milliseconds. */
async function measureLag(url: string, signal: AbortSignal): Promise<readonly number[]> {
  const lags: number[] = [];
  while (!signal.aborted) {
    lags.push((await post(url, { method: 'GET', headers: {}, body: '' })).elapsedMs);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return lags;
}
