import { and, asc, eq, max, ne, sql } from 'drizzle-orm';
import type { ChatMessage } from '../agent/chat-message.ts';
import type { PlanNode } from '../agent/plan.ts';
import type { RunEvent } from '../agent/run.ts';
import { runFinishedEvent } from '../agent/run-audit.ts';
import {
  type InvocationLog,
  LeaseLost,
  type ProposedInvocation,
  type RunEnd,
  type RunProgress,
  type RunRecord,
  type SkippedInvocation,
} from '../agent/run-record.ts';
import type { RunLease } from '../agent/run-store.ts';
import type { ConfirmationId, InvocationId, RunId } from '../ids.ts';
import type { JsonObject } from '../json.ts';
import { appendAuditEvents } from './audit-store.ts';
import type { Connection, Database } from './database.ts';
import { runFactsFromRow, storedInvocationFromRow } from './run-rows.ts';
import { invocations, runEvents, runMessages, runs } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

type NewEvent = Pick<RunEvent, 'kind'> & { readonly data: JsonObject };
type InvocationChange = Partial<typeof invocations.$inferInsert> | Record<string, unknown>;

/** The fenced writes of one worker: each is one transaction that starts by locking the run under its token. */
export class RunRecordStore implements RunRecord {
  readonly run: RunId;
  readonly #fencingToken: number;
  readonly #database: Database;

  constructor(database: Database, lease: RunLease) {
    this.#database = database;
    this.run = lease.run;
    this.#fencingToken = lease.fencingToken;
  }

  async load(): Promise<RunProgress> {
    const { connection } = this.#database;
    const [row] = await connection.select().from(runs).where(this.#held());
    if (!row) throw new LeaseLost(this.run);
    const messages = await connection
      .select({ message: runMessages.message })
      .from(runMessages)
      .where(eq(runMessages.runId, this.run))
      .orderBy(asc(runMessages.seq));
    const calls = await connection.select().from(invocations).where(eq(invocations.runId, this.run));
    return {
      facts: runFactsFromRow(row),
      messages: messages.map(({ message }) => message),
      invocations: calls.map(storedInvocationFromRow),
      cancelRequested: row.cancelRequestedAt !== null,
    };
  }

  appendMessages(messages: readonly ChatMessage[]): Promise<void> {
    return this.#write([], async (transaction) => {
      const [last] = await transaction
        .select({ seq: max(runMessages.seq) })
        .from(runMessages)
        .where(eq(runMessages.runId, this.run));
      const from = (last?.seq ?? 0) + 1;
      await transaction.insert(runMessages).values(
        messages.map((message, index) => ({
          runId: this.run,
          seq: from + index,
          message: storableJson(message),
        })),
      );
    });
  }

  modelDelta(text: string): Promise<void> {
    return this.#write([{ kind: 'model.delta', data: { text } }], async () => {});
  }

  planned(plan: readonly PlanNode[]): Promise<void> {
    return this.#write([], async (transaction) => {
      await transaction
        .update(runs)
        .set({ plan: storableJson(plan) })
        .where(eq(runs.id, this.run));
    });
  }

  async workedMs(): Promise<number> {
    const waitingMs = sql`coalesce(extract(epoch from clock_timestamp() - ${runs.waitingSince}) * 1000, 0)`;
    const [row] = await this.#database.connection
      .select({
        workedMs: sql<string>`extract(epoch from clock_timestamp() - ${runs.createdAt}) * 1000 - ${runs.waitedMs} - ${waitingMs}`,
      })
      .from(runs)
      .where(this.#held());
    if (!row) throw new LeaseLost(this.run);
    return Number(row.workedMs);
  }

  proposed(call: ProposedInvocation): Promise<void> {
    return this.#write([{ kind: 'tool.called', data: calledEvent(call) }], async (transaction) => {
      await transaction.insert(invocations).values({
        ...this.#placed(call),
        phase: 'proposed',
        status: 'running',
        callId: call.callId === null ? null : storableText(call.callId),
        args: call.args,
        proposedDigest: call.proposedDigest,
      });
    });
  }

  skip(call: SkippedInvocation): Promise<void> {
    const data = { invocation: call.id, tool: call.tool, node: nodeOf(call), status: 'skipped', code: null };
    return this.#write([{ kind: 'tool.finished', data }], async (transaction) => {
      await transaction.insert(invocations).values({
        ...this.#placed(call),
        phase: 'settled',
        status: 'skipped',
        args: {},
        finishedAt: sql`clock_timestamp()`,
      });
    });
  }

  markSkipped(id: InvocationId): Promise<void> {
    return this.#write([], (transaction) => this.#change(transaction, id, { status: 'skipped' }));
  }

  async wasRejected(proposedDigest: string): Promise<boolean> {
    const rows = await this.#database.connection
      .select({ id: invocations.id })
      .from(invocations)
      .where(
        and(
          eq(invocations.runId, this.run),
          eq(invocations.proposedDigest, proposedDigest),
          eq(invocations.errorCode, 'rejected'),
        ),
      )
      .limit(1);
    return rows.length > 0;
  }

  waiting({ id, confirmation, args, sideEffects }: Parameters<InvocationLog['waiting']>[0]): Promise<void> {
    return this.#write([{ kind: 'run.waiting', data: { invocation: id, confirmation } }], (transaction) =>
      this.#change(transaction, id, {
        phase: 'waiting',
        status: 'waiting',
        confirmationId: confirmation,
        args,
        sideEffects: storableJson(sideEffects),
      }),
    );
  }

  decided({ id, confirmation, status, reason }: Parameters<InvocationLog['decided']>[0]): Promise<void> {
    const data = { invocation: id, confirmation, status, reason };
    return this.#write([{ kind: 'confirmation.decided', data }], (transaction) =>
      this.#change(transaction, id, { status: 'running' }),
    );
  }

  executing({ id, args, sideEffects }: Parameters<InvocationLog['executing']>[0]): Promise<void> {
    return this.#write([], (transaction) =>
      this.#change(transaction, id, {
        phase: 'executing',
        status: 'running',
        args,
        sideEffects: storableJson(sideEffects),
        executingAt: sql`clock_timestamp()`,
      }),
    );
  }

  delegateWaiting({ id, waiting }: Parameters<InvocationLog['delegateWaiting']>[0]): Promise<void> {
    const events: NewEvent[] = waiting
      ? [{ kind: 'run.waiting', data: { invocation: id, confirmation: null } }]
      : [];
    return this.#write(events, (transaction) =>
      this.#change(transaction, id, { status: waiting ? 'waiting' : 'running' }),
    );
  }

  executed({ id, status, result, error }: Parameters<InvocationLog['executed']>[0]): Promise<void> {
    return this.#write([], (transaction) =>
      this.#change(transaction, id, {
        phase: 'executed',
        status,
        result: result === null ? null : JSON.stringify(storableJson(result)),
        ...errorColumns(error),
      }),
    );
  }

  async settled(input: Parameters<InvocationLog['settled']>[0]): Promise<void> {
    const sideEffects = storableJson([...input.sideEffects]);
    const data = {
      invocation: input.id,
      status: input.status,
      code: input.error?.code ?? null,
      ...(sideEffects.length > 0 && { sideEffects: sideEffects.map((effect) => ({ ...effect })) }),
    };
    await this.#write([], async (transaction) => {
      // Once: a writer that did not hear of its commit tries again.
      const settled = await transaction
        .update(invocations)
        .set({
          phase: 'settled',
          status: input.status,
          confirmationId: input.confirmation,
          view: storableText(input.view),
          sideEffects,
          finishedAt: sql`clock_timestamp()`,
          ...errorColumns(input.error),
        })
        .where(and(eq(invocations.id, input.id), ne(invocations.phase, 'settled')))
        .returning({ id: invocations.id });
      if (settled.length === 0) return;
      await this.#appendEvents(transaction, [{ kind: 'tool.finished', data }]);
      await appendAuditEvents(transaction, [input.event]);
    });
    await this.#wakeSequencer();
  }

  settleUnknown({ id, status, error }: Parameters<RunRecord['settleUnknown']>[0]): Promise<void> {
    const data = { invocation: id, status, code: error?.code ?? null };
    return this.#write([{ kind: 'tool.finished', data }], (transaction) =>
      this.#change(transaction, id, { status, ...errorColumns(error) }),
    );
  }

  async confirmationOf(id: InvocationId): Promise<ConfirmationId | null> {
    const rows = await this.#database.connection
      .select({ id: sql<ConfirmationId>`id` })
      .from(sql`confirmations`)
      .where(sql`invocation_id = ${id}`)
      .limit(1);
    return rows[0]?.id ?? null;
  }

  setHolding(holding: boolean): Promise<void> {
    const events: NewEvent[] = holding
      ? [{ kind: 'run.waiting', data: { invocation: null, confirmation: null } }]
      : [];
    return this.#write(events, async (transaction) => {
      await transaction.update(runs).set({ holding }).where(eq(runs.id, this.run));
    });
  }

  async finish(end: RunEnd): Promise<void> {
    const { status, output, error } = end;
    const text = output === null ? null : storableText(output);
    const data = { status, output: text, error: error && { ...error } };
    await this.#transact(async (transaction) => {
      await this.#appendEvents(transaction, [{ kind: 'run.finished', data }]);
      const [finished] = await transaction
        .update(runs)
        .set({
          status,
          output: text,
          ...errorColumns(error),
          finishedAt: sql`clock_timestamp()`,
          leaseOwner: null,
        })
        .where(eq(runs.id, this.run))
        .returning({ agent: runs.agent });
      if (!finished) throw new LeaseLost(this.run);
      await appendAuditEvents(transaction, [runFinishedEvent(this.run, finished.agent, end)]);
    });
    await this.#wakeSequencer();
  }

  async faults(): Promise<number> {
    const [row] = await this.#database.connection
      .select({ faults: runs.faults })
      .from(runs)
      .where(this.#held());
    if (!row) throw new LeaseLost(this.run);
    return row.faults;
  }

  async release({ fault }: { readonly fault: boolean }): Promise<void> {
    await this.#database.connection
      .update(runs)
      .set({ leaseOwner: null, ...(fault && { faults: sql`${runs.faults} + 1` }) })
      .where(this.#held());
  }

  #held() {
    return and(eq(runs.id, this.run), eq(runs.fencingToken, this.#fencingToken));
  }

  #placed(call: SkippedInvocation) {
    const { position } = call;
    return {
      id: call.id,
      runId: this.run,
      tool: storableText(call.tool),
      sideEffects: [],
      createdAt: sql`clock_timestamp()`,
      ...(position.kind === 'node'
        ? { node: position.node }
        : { turn: position.turn, place: position.place }),
    };
  }

  async #change(transaction: Connection, id: InvocationId, change: InvocationChange): Promise<void> {
    await transaction.update(invocations).set(change).where(eq(invocations.id, id));
  }

  /** One fenced change, after which the run reads `waiting` while any invocation does, or a node holds it. */
  #write(events: readonly NewEvent[], work: (transaction: Connection) => Promise<void>): Promise<void> {
    return this.#transact(async (transaction) => {
      await this.#appendEvents(transaction, events);
      await work(transaction);
      await transaction
        .update(runs)
        .set({
          status: sql`case when ${runs.holding} or exists (
            select 1 from ${invocations} where ${invocations.runId} = ${this.run} and ${invocations.status} = 'waiting'
          ) then 'waiting' else 'running' end`,
        })
        .where(eq(runs.id, this.run));
    });
  }

  async #transact(work: (transaction: Connection) => Promise<void>): Promise<void> {
    await this.#database.transaction(work);
    // It is committed: a lost wake-up only delays whoever watches the run, until the next poll.
    await this.#database.notifier.notify('run', this.run).catch(() => {});
  }

  /** The event is on the record; a lost wake-up only delays its number. */
  async #wakeSequencer(): Promise<void> {
    await this.#database.notifier.notify('audit', this.run).catch(() => {});
  }

  /** Takes the run's row lock under our token, and the next numbers of its stream. */
  async #appendEvents(transaction: Connection, events: readonly NewEvent[]): Promise<void> {
    const [row] = await transaction
      .update(runs)
      .set({ eventSeq: sql`${runs.eventSeq} + ${events.length}` })
      .where(and(this.#held(), sql`${runs.finishedAt} is null`))
      .returning({ eventSeq: runs.eventSeq });
    if (!row) throw new LeaseLost(this.run);
    if (events.length === 0) return;
    const from = row.eventSeq - events.length + 1;
    await transaction.insert(runEvents).values(
      events.map(({ kind, data }, index) => ({
        runId: this.run,
        seq: from + index,
        kind,
        data: storableJson(data),
        at: sql`clock_timestamp()`,
      })),
    );
  }
}

const nodeOf = (call: SkippedInvocation): string | null =>
  call.position.kind === 'node' ? call.position.node : null;

const calledEvent = (call: ProposedInvocation): JsonObject => ({
  invocation: call.id,
  callId: call.callId,
  node: nodeOf(call),
  tool: call.tool,
  args: call.args,
});

const errorColumns = (error: { readonly code: string; readonly message: string } | null) => ({
  errorCode: error?.code ?? null,
  errorMessage: error === null ? null : storableText(error.message),
});
