import { describe, expect, it } from 'vitest';
import { connectorRateLimit } from '../../hooks/connector-rate-limit.ts';
import type { RateLimitPort } from '../../src/hook/hook-ports.ts';
import { personId } from '../../src/ids.ts';
import { CONTEXT, dispatchOver } from '../hook/sample-hooks.ts';
import { brokenPorts, workingPorts } from '../hook/sample-ports.ts';

/** The keys under which calls were counted, for the options and calls given. */
async function keysOf(options: object, contexts: readonly (typeof CONTEXT)[]): Promise<string[]> {
  const keys: string[] = [];
  const rateLimit: RateLimitPort = {
    take: async ({ key }) => {
      keys.push(key);
      return { allowed: true };
    },
  };
  const hook = connectorRateLimit.create(
    connectorRateLimit.options.parse(options),
    workingPorts({ rateLimit }),
  );
  for (const context of contexts) await dispatchOver([hook], { context }).run();
  return keys;
}

const zhao = CONTEXT;
const li = { ...CONTEXT, userId: personId('li.wei') };
const zhaoOnCrm = { ...CONTEXT, metadata: { ...CONTEXT.metadata, connector: 'crm' } };
const elsewhere = { ...CONTEXT, metadata: { ...CONTEXT.metadata, organization: 'other' } };
const distinct = (keys: readonly string[]) => new Set(keys).size;

describe('the rate limit of a connector', () => {
  it('counts by user and connector where nothing else is said', async () => {
    const keys = await keysOf({ limit: 5, window: '1m' }, [zhao, zhao, li, zhaoOnCrm, elsewhere]);
    expect(keys[0]).toBe(keys[1]);
    expect(distinct(keys)).toBe(4);
  });

  it('counts a user over all connectors, or a connector over all users, where that is said', async () => {
    expect(distinct(await keysOf({ limit: 5, window: '1m', per: 'user' }, [zhao, zhaoOnCrm]))).toBe(1);
    expect(distinct(await keysOf({ limit: 5, window: '1m', per: 'user' }, [zhao, li]))).toBe(2);
    expect(distinct(await keysOf({ limit: 5, window: '1m', per: 'connector' }, [zhao, li]))).toBe(1);
    expect(distinct(await keysOf({ limit: 5, window: '1m', per: 'connector' }, [zhao, zhaoOnCrm]))).toBe(2);
  });

  it('keeps limits over different windows apart', async () => {
    const minute = await keysOf({ limit: 5, window: '1m' }, [zhao]);
    expect(await keysOf({ limit: 5, window: '60s' }, [zhao])).toEqual(minute);
    expect(await keysOf({ limit: 5, window: '1h' }, [zhao])).not.toEqual(minute);
  });

  it('tells a blocked call when to try again', async () => {
    const rateLimit: RateLimitPort = { take: async () => ({ allowed: false, retryAfterSeconds: 42 }) };
    const hook = connectorRateLimit.create(
      { limit: 5, window: '1m', per: 'user' },
      workingPorts({ rateLimit }),
    );
    expect(await dispatchOver([hook]).run()).toMatchObject({
      kind: 'denied',
      code: 'rate_limited',
      retryAfter: 42,
      message: expect.stringContaining('42 seconds'),
      failure: false,
    });
  });

  it('denies where the call cannot be counted', async () => {
    const hook = connectorRateLimit.create({ limit: 5, window: '1m', per: 'user' }, brokenPorts());
    expect(await dispatchOver([hook]).run()).toMatchObject({ kind: 'denied', failure: true });
  });

  it.each([
    [{ window: '1m' }],
    [{ limit: 0, window: '1m' }],
    [{ limit: 1.5, window: '1m' }],
    [{ limit: 5 }],
    [{ limit: 5, window: '60' }],
    [{ limit: 5, window: '0s' }],
    [{ limit: 5, window: '1w' }],
    [{ limit: 5, window: '31d' }],
    [{ limit: 5, window: '1m', per: 'agent' }],
  ])('refuses the options %j', (options) => {
    expect(connectorRateLimit.options.safeParse(options).success).toBe(false);
  });
});
