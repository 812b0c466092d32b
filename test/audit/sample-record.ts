import { sql } from 'drizzle-orm';
import type { NewAuditEvent } from '../../src/audit/audit-event.ts';
import { SYSTEM_ACTOR } from '../../src/audit/audit-event.ts';
import { digestOf } from '../../src/confirmation/digest.ts';
import { appendAuditEvents } from '../../src/db/audit-store.ts';
import type { Database } from '../../src/db/database.ts';
import { confirmations } from '../../src/db/schema/confirmations.ts';
import { type ConfirmationId, newConfirmationId, newRunId } from '../../src/ids.ts';

const AGENT = { type: 'agent', id: 'procurement', name: 'procurement' } as const;
export const LI_WEI = { type: 'person', id: 'li.wei', name: '李伟' } as const;

/** Stores a request with its event, as the core does, and returns what the decision needs. */
export async function requestPayment(database: Database, amount = '68000.00') {
  const id = newConfirmationId();
  const call = {
    organization: 'acme',
    tool: 'oa__purchase_pay',
    toolVersion: null,
    args: { amount, payee: '甲' },
  };
  const argsDigest = digestOf(call);
  await database.transaction(async (connection) => {
    await connection.insert(confirmations).values({
      id,
      ...call,
      argsDigest,
      status: 'pending',
      version: 1,
      toolWrites: true,
      verificationCode: '7F3K9QZD',
      decisiveFields: [],
      agent: 'procurement',
      requesterId: 'zhao.min',
      requesterName: '赵敏',
      requesterNamedByAgent: false,
      metadata: {},
      policy: {},
      approvers: [],
      createdAt: new Date(),
      decideBy: new Date(Date.now() + 3_600_000),
      executionStatus: 'none',
    });
    await appendAuditEvents(connection, [
      event('confirmation.requested', id, { argsDigest, tool: call.tool, count: 0.1 }),
    ]);
  });
  return { id, argsDigest };
}

/** Approves a request with its events, as the core does, in one transaction. */
export async function approvePayment(
  database: Database,
  request: { id: ConfirmationId; argsDigest: string },
) {
  const at = new Date();
  const executeBy = new Date(Date.now() + 600_000);
  await database.transaction(async (connection) => {
    await connection
      .update(confirmations)
      .set({
        status: 'approved',
        decidedAt: at,
        decidedById: LI_WEI.id,
        decidedByName: LI_WEI.name,
        decisionReason: 'ok',
        decisionCode: 'approved',
        executionStatus: 'unclaimed',
        executableFrom: at,
        executeBy,
      })
      .where(sql`id = ${request.id}`);
    await appendAuditEvents(connection, [
      event('vote.cast', request.id, { verdict: 'approve' }, LI_WEI),
      event(
        'confirmation.decided',
        request.id,
        {
          status: 'approved',
          code: 'approved',
          person: LI_WEI.id,
          reason: 'ok',
          channel: 'pay-slack',
          at: at.toISOString(),
          argsDigest: request.argsDigest,
          executeBy: executeBy.toISOString(),
        },
        LI_WEI,
      ),
    ]);
  });
}

/** Requests of which two in three are approved, runs, and switches of the whole system, interleaved. */
export async function writeSampleRecord(database: Database, requests: number): Promise<void> {
  const open: Awaited<ReturnType<typeof requestPayment>>[] = [];
  for (let index = 0; index < requests; index += 1) {
    open.push(await requestPayment(database, `${index}.00`));
    const oldest = index % 3 > 0 ? open.shift() : undefined;
    if (oldest) await approvePayment(database, oldest);
    const run = newRunId();
    await database.transaction((connection) =>
      appendAuditEvents(connection, [
        { ...event('run.started', null, { index }), run },
        event('read_only.changed', null, { readOnly: index % 2 === 0 }, SYSTEM_ACTOR),
        { ...event('run.finished', null, { status: 'succeeded' }), run },
      ]),
    );
  }
}

export const event = (
  kind: NewAuditEvent['kind'],
  confirmation: string | null,
  data: NewAuditEvent['data'],
  actor: NewAuditEvent['actor'] = AGENT,
): NewAuditEvent => ({ kind, confirmation, run: null, actor, data });
