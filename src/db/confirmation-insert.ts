import { sql } from 'drizzle-orm';
import type { NewConfirmation } from '../confirmation/ledger.ts';
import type { ConfirmationRow } from './confirmation-row.ts';
import type { Connection } from './database.ts';
import { insertDeliveries } from './delivery-store.ts';
import { insertExplanation } from './explanation-store.ts';
import { followedBy } from './followed-rejection.ts';
import { confirmations } from './schema/confirmations.ts';

/** Inserts a pending request and its deliveries; null where its id or its Idempotency-Key is taken. */
export async function insertConfirmation(
  connection: Connection,
  request: NewConfirmation,
): Promise<ConfirmationRow | null> {
  // The deadline counts from one reading of the database clock, kept in milliseconds as people see it.
  const now = sql`date_trunc('milliseconds', statement_timestamp())`;
  const decideBy = sql`${now} + make_interval(secs => ${request.policy.decideWithinMs / 1000}::float8)`;
  const [row] = await connection
    .insert(confirmations)
    .values({
      id: request.id,
      organization: request.organization,
      status: 'pending',
      version: 1,
      tool: request.tool,
      toolVersion: request.toolVersion,
      toolTimeoutMs: request.toolTimeoutMs,
      toolWrites: request.toolWrites,
      toolIdempotent: request.toolIdempotent,
      connector: request.connector,
      args: request.args,
      argsDigest: request.argsDigest,
      verificationCode: request.verificationCode,
      decisiveFields: request.decisiveFields,
      summary: request.summary,
      agent: request.agent,
      session: request.session,
      callId: request.callId,
      requesterId: request.requester.id,
      requesterName: request.requester.name,
      requesterNamedByAgent: request.requesterNamedByAgent,
      agentOwner: request.agentOwner,
      runId: request.runId,
      parentRunId: request.parentRunId,
      invocationId: request.invocationId,
      supersedes: request.supersedes,
      follows: followedBy(request),
      apiKeyId: request.apiKeyId,
      idempotencyKey: request.idempotencyKey,
      bodyDigest: request.bodyDigest,
      metadata: request.metadata,
      policy: request.policy,
      approvers: request.approvers,
      createdAt: now as unknown as Date,
      decideBy: decideBy as unknown as Date,
      executionStatus: 'none',
    })
    .onConflictDoNothing()
    .returning();
  if (!row) return null;
  await insertExplanation(connection, request.id, request.explanation);
  const { id, places } = request;
  await insertDeliveries(connection, { confirmationId: id, places, at: row.createdAt });
  return row;
}
