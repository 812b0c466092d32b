import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Database } from '../../src/db/database.ts';
import { agentId } from '../../src/ids.ts';
import { openPostgres } from '../support/databases.ts';
import { type EngineFixture, startEngine } from './engine-fixture.ts';
import { ModelServer, toolResult } from './model-server.ts';
import { agent, sampleConfig } from './sample-config.ts';
import { ToolServer } from './tool-server.ts';

const PAY = { id: 'p', name: 'oa__pay', arguments: { payee: 'Acme Ltd', amount: '10.00' } };

describe('between the approval and the tool', () => {
  const model = new ModelServer();
  const tools = new ToolServer();
  let standstillMs = 0;
  const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() + standstillMs };
  let database: Database;
  let engine: EngineFixture;

  beforeAll(async () => {
    database = await openPostgres();
    engine = await startEngine({
      database,
      clock,
      config: sampleConfig({
        modelUrl: await model.start(),
        toolUrl: await tools.start(),
        agents: [agent('buyer')],
      }),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await database.close();
    await Promise.all([model.stop(), tools.stop()]);
  });
  beforeEach(() => {
    tools.calls.length = 0;
    model.requests.length = 0;
    model.script('buyer', [{ calls: [PAY] }, { text: 'I see.' }]);
    engine.afterClaim = null;
  });

  async function approve(beforeDecision: (id: string) => Promise<unknown> = async () => {}) {
    const { id } = await engine.start({ agent: agentId('buyer') });
    const [request] = await engine.asked(id);
    if (!request) throw new Error('nobody was asked');
    await beforeDecision(request.id);
    await engine.decide(request.id, 'approve');
    const run = await engine.finished(id);
    const after = await engine.confirmations.get(request.id);
    return { invocation: run.invocations[0], told: toolResult(model.requests[1]), after };
  }

  it('a worker that stood still past its time to send does not send, and says so', async () => {
    engine.afterClaim = () => {
      standstillMs += 10_500;
    };
    const { invocation, told, after } = await approve();
    expect(tools.calls).toEqual([]);
    expect(invocation).toMatchObject({ status: 'blocked', error: { code: 'lapsed' } });
    expect(told).toMatchObject({ code: 'lapsed', executed: false });
    expect(after).toMatchObject({ execution: { status: 'failed', detail: 'not sent' } });
  });

  it('a short standstill is no harm', async () => {
    engine.afterClaim = () => {
      standstillMs += 5_000;
    };
    expect((await approve()).invocation).toMatchObject({ status: 'succeeded' });
    expect(tools.calls.length).toBe(1);
  });

  it('a claim whose answer is lost does not run: it may have been used', async () => {
    engine.afterClaim = () => {
      throw new Error('the connection broke');
    };
    const { told, after } = await approve();
    expect(tools.calls).toEqual([]);
    expect(told).toMatchObject({ status: 'blocked', code: 'gate_unavailable', executed: false });
    expect(after).toMatchObject({ execution: { status: 'failed', detail: 'not sent' } });
  });

  it('a call that went read-only meanwhile does not run', async () => {
    const { told, after } = await approve(() =>
      database.connection.execute(sql`update gate_controls set read_only_organization = true`),
    );
    expect(tools.calls).toEqual([]);
    expect(told).toMatchObject({ code: 'revoked', executed: false });
    expect(after).toMatchObject({ execution: { status: 'revoked', detail: 'read_only' } });
  });
});
