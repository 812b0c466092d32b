import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { ChatMessage } from '../agent/chat-message.ts';
import type { PlanNode } from '../agent/plan.ts';
import { hooksChangedEvent, runFinishedEvent } from '../agent/run-audit.ts';
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
import type { RunWait } from '../agent/run-waits.ts';
import type { SpokenPiece } from '../agent/spoken-answer.ts';
import type { HookChain } from '../hook/hook-chain.ts';
import type { AgentId, ConfirmationId, InvocationId, RunId } from '../ids.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { CoalescedNotices } from './coalesced-notices.ts';
import type { Connection, Database } from './database.ts';
import { jsonb } from './jsonb.ts';
import { newInvocation, nodeOf } from './new-invocation.ts';
import { readRunProgress } from './read-run-progress.ts';
import { rowsOf } from './rows-of.ts';
import { areWaitedFor } from './run-parking.ts';
import { type NewRunEvent, type RunWrite, type WrittenToRun, writeToRun } from './run-write.ts';
import { invocations, runMessages, runs } from './schema/runs.ts';
import { storableJson, storableText } from './storable-json.ts';

/** The fenced writes of one worker, each in one transaction under its token. There is one of these a lease. */
export class RunRecordStore implements RunRecord {
  readonly run: RunId;
  readonly #agent: AgentId;
  readonly #fencingToken: number;
  readonly #database: Database;
  readonly #notices: CoalescedNotices;
  readonly #onUnwanted: () => void;
  #last: Promise<void> = Promise.resolve();
  /** How many messages are on record as far as this worker knows; null before it has looked. */
  #messageCount: number | null = null;

  constructor(
    database: Database,
    lease: RunLease,
    told: { readonly notices: CoalescedNotices; readonly onUnwanted?: (() => void) | undefined },
  ) {
    this.#database = database;
    this.#notices = told.notices;
    this.#onUnwanted = told.onUnwanted ?? (() => {});
    this.run = lease.run;
    this.#agent = lease.agent;
    this.#fencingToken = lease.fencingToken;
  }

  async load(): Promise<RunProgress> {
    const progress = await readRunProgress(this.#database.prepared, this.#lease());
    if (progress === null) throw new LeaseLost(this.run);
    this.#messageCount = progress.messages.length;
    return progress;
  }

  async appendMessages(messages: readonly ChatMessage[], spoken: SpokenPiece | null): Promise<void> {
    const before = this.#messageCount;
    const rows = messages.map((message, index) => ({ place: index + 1, message: storableJson(message) }));
    await this.#write({
      events: spoken === null ? [] : [deltaEvent(spoken)],
      insert: sql`
        insert into ${runMessages} (run_id, seq, message)
        select ${this.run}::uuid, last.seq + added.place, added.message
        from held, target,
          (select coalesce(max(seq), 0) as seq from ${runMessages} where run_id = ${this.run}) as last,
          jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as added (place integer, message jsonb)`,
      // Once: a writer that did not hear of its commit tries again.
      ...(before !== null && {
        unless: sql`exists (select from ${runMessages} where run_id = ${this.run} and seq > ${before})`,
      }),
    });
    if (before !== null) this.#messageCount = before + messages.length;
  }

  async tell(piece: SpokenPiece): Promise<void> {
    await this.#write({ events: [deltaEvent(piece)] });
  }

  async planned(plan: readonly PlanNode[]): Promise<void> {
    await this.#write({ events: [], plan });
  }

  async takenUpUnder(hooks: HookChain): Promise<void> {
    await this.#write({
      events: [],
      hooks,
      // Those that people were asked about were judged before.
      insert: sql`update ${invocations} set hook_revision = held.hook_revision from held
        where ${invocations.runId} = ${this.run} and ${invocations.phase} = 'proposed'
          and not exists (select 1 from confirmations where invocation_id = ${invocations.id})`,
      audit: hooksChangedEvent(this.run, this.#agent, hooks),
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

  async proposed(call: ProposedInvocation): Promise<{ readonly rejectedBefore: boolean }> {
    const { answer } = await this.#write({
      events: [{ kind: 'tool.called', data: calledEvent(call) }],
      insert: newInvocation(this.run, call, { phase: 'proposed', status: 'running', ...call }),
      asks: sql`exists (${this.#rejected(call.proposedDigest)})`,
    });
    return { rejectedBefore: answer };
  }

  async skip(call: SkippedInvocation): Promise<void> {
    const data = { invocation: call.id, tool: call.tool, node: nodeOf(call), status: 'skipped', code: null };
    const skipped = {
      phase: 'settled',
      status: 'skipped',
      callId: null,
      args: {},
      proposedDigest: null,
    } as const;
    await this.#write({
      events: [{ kind: 'tool.finished', data }],
      insert: newInvocation(this.run, call, skipped),
    });
  }

  async markSkipped(id: InvocationId): Promise<void> {
    await this.#write({ events: [], change: { id, status: 'skipped' } });
  }

  async wasRejected(proposedDigest: string): Promise<boolean> {
    const rows = await rowsOf(this.#database.connection, this.#rejected(proposedDigest));
    return rows.length > 0;
  }

  #rejected(proposedDigest: string | null): SQL {
    return sql`select 1 from ${invocations} where ${invocations.runId} = ${this.run}
      and ${invocations.proposedDigest} = ${proposedDigest} and ${invocations.errorCode} = 'rejected'`;
  }

  async waiting({
    id,
    confirmation,
    args,
    sideEffects,
  }: Parameters<InvocationLog['waiting']>[0]): Promise<void> {
    await this.#write({
      events: [{ kind: 'run.waiting', data: { invocation: id, confirmation } }],
      change: {
        id,
        status: 'waiting',
        set: sql`phase = 'waiting', confirmation_id = ${confirmation}, args = ${jsonb(args)}, side_effects = ${jsonb(sideEffects)}`,
      },
    });
  }

  async decided(input: Parameters<InvocationLog['decided']>[0]): Promise<void> {
    const { id, confirmation, status, reason, coolingOff } = input;
    await this.#write({
      events: [{ kind: 'confirmation.decided', data: { invocation: id, confirmation, status, reason } }],
      change: {
        id,
        status: coolingOff ? 'waiting' : 'running',
        set: sql`decided_at = clock_timestamp()`,
        unless: sql`${invocations.decidedAt} is not null`,
      },
    });
  }

  async executing({ id, args, sideEffects }: Parameters<InvocationLog['executing']>[0]) {
    const { unwanted } = await this.#write({
      events: [],
      change: {
        id,
        status: 'running',
        set: sql`phase = case when held.unwanted then phase else 'executing' end,
          executing_at = case when held.unwanted then executing_at else clock_timestamp() end,
          args = ${jsonb(args)}, side_effects = ${jsonb(sideEffects)}`,
      },
    });
    return { wanted: !unwanted };
  }

  async delegateWaiting({
    id,
    run,
    waiting,
  }: Parameters<InvocationLog['delegateWaiting']>[0]): Promise<void> {
    const status = waiting ? 'waiting' : 'running';
    await this.#write({
      events: waiting ? [{ kind: 'run.waiting', data: { invocation: id, confirmation: null, run } }] : [],
      change: { id, status, unless: sql`${invocations.status} = ${status}` },
    });
  }

  async executed({ id, status, result, error }: Parameters<InvocationLog['executed']>[0]): Promise<void> {
    await this.#write({
      events: [],
      change: {
        id,
        status,
        set: sql`phase = 'executed', result = ${resultText(result)}, ${errorSet(error)}`,
      },
    });
  }

  async settled(input: Parameters<InvocationLog['settled']>[0]): Promise<void> {
    const { id, status, error, confirmation } = input;
    const sideEffects = storableJson([...input.sideEffects]);
    const data = {
      invocation: id,
      status,
      code: error?.code ?? null,
      ...(sideEffects.length > 0 && { sideEffects: sideEffects.map((effect) => ({ ...effect })) }),
    };
    await this.#write({
      events: [{ kind: 'tool.finished', data }],
      change: {
        id,
        status,
        set: sql`phase = 'settled', confirmation_id = ${confirmation}, view = ${storableText(input.view)},
          ${input.result === undefined ? sql`` : sql`result = ${resultText(input.result)},`}
          side_effects = ${jsonb(sideEffects)}, finished_at = clock_timestamp(), ${errorSet(error)}`,
        // Once: a writer that did not hear of its commit tries again.
        unless: sql`${invocations.phase} = 'settled'`,
      },
      audit: input.event,
    });
  }

  async settleUnknown({ id, status, error }: Parameters<RunRecord['settleUnknown']>[0]): Promise<void> {
    await this.#write({
      events: [{ kind: 'tool.finished', data: { invocation: id, status, code: error?.code ?? null } }],
      change: { id, status, set: errorSet(error) },
    });
  }

  async heldAt(): Promise<Date> {
    const [row] = await this.#database.connection
      .select({ nowMs: sql<string>`extract(epoch from clock_timestamp()) * 1000` })
      .from(runs)
      .where(this.#held());
    if (!row) throw new LeaseLost(this.run);
    return new Date(Number(row.nowMs));
  }

  async confirmationOf(id: InvocationId): Promise<ConfirmationId | null> {
    const rows = await this.#database.connection
      .select({ id: sql<ConfirmationId>`id` })
      .from(sql`confirmations`)
      .where(sql`invocation_id = ${id}`)
      .limit(1);
    return rows[0]?.id ?? null;
  }

  async hold(by: Parameters<RunRecord['hold']>[0]): Promise<void> {
    await this.#write({ events: [{ kind: 'run.waiting', data: { ...by } }], holding: true });
  }

  async letGo(): Promise<void> {
    await this.#write({ events: [], holding: false });
  }

  async finish(end: RunEnd): Promise<RunId | null> {
    const { status, output, error } = end;
    const text = output === null ? null : storableText(output);
    const finished = {
      kind: 'run.finished' as const,
      data: { status, output: text, error: error && { ...error } },
    };
    const { parent } = await this.#write({
      events: [finished],
      end,
      audit: runFinishedEvent(this.run, this.#agent, end),
    });
    return parent;
  }

  park(waits: readonly RunWait[]): Promise<boolean> {
    return this.#inTurn(() =>
      this.#database.transaction((transaction) => this.#parkInside(transaction, waits)),
    );
  }

  async #parkInside(transaction: Connection, waits: readonly RunWait[]): Promise<boolean> {
    // Locks what is waited for before the run, as whoever ends a wait does: one of the two sees the other.
    if (!(await areWaitedFor(transaction, waits))) return false;
    const [row] = await transaction
      .select({ status: runs.status, cancelRequestedAt: runs.cancelRequestedAt })
      .from(runs)
      .where(this.#held())
      .for('update');
    if (!row) throw new LeaseLost(this.run);
    if (row.status !== 'waiting' || row.cancelRequestedAt !== null) return false;
    await transaction
      .update(runs)
      .set({
        parkedAt: sql`clock_timestamp()`,
        leaseOwner: null,
        faults: 0,
        // Nothing that this worker still has in hand can be written any more.
        fencingToken: sql`${runs.fencingToken} + 1`,
      })
      .where(eq(runs.id, this.run));
    return true;
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

  #lease(): RunLease {
    return { run: this.run, agent: this.#agent, fencingToken: this.#fencingToken };
  }

  async #write(write: RunWrite): Promise<WrittenToRun> {
    const written = await this.#inTurn(() => writeToRun(this.#database.prepared, this.#lease(), write));
    if (written === null) throw new LeaseLost(this.run);
    // It is committed: a wake-up that is lost, or comes a moment later, only delays whoever watches.
    this.#notices.announce('run', this.run);
    if (write.audit !== undefined) this.#notices.announce('audit', this.run);
    if (written.unwanted) this.#onUnwanted();
    return written;
  }

  /** One write after another, as `writeToRun` needs it; one that fails keeps none of the others from being made. */
  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const written = this.#last.then(write);
    this.#last = written.then(
      () => {},
      () => {},
    );
    return written;
  }
}

const deltaEvent = ({ turn, text, first }: SpokenPiece): NewRunEvent => ({
  kind: 'model.delta',
  data: { turn, text, first },
});

const resultText = (result: JsonValue): string | null =>
  result === null ? null : JSON.stringify(storableJson(result));

const errorSet = (error: { readonly code: string; readonly message: string } | null): SQL =>
  sql`error_code = ${error?.code ?? null}, error_message = ${error === null ? null : storableText(error.message)}`;

const calledEvent = (call: ProposedInvocation): JsonObject => ({
  invocation: call.id,
  callId: call.callId,
  node: nodeOf(call),
  tool: call.tool,
  args: call.args,
});
