import { sleep } from '../clock.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { OwnReason } from '../confirmation/own-reason.ts';
import type { ConfirmationId } from '../ids.ts';
import type { AgentDirectory } from './agent-directory.ts';
import type { ExecutionScope, OpenCall } from './call-scope.ts';
import { newAttempt } from './claim-attempt.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { run } from './invoke-tool.ts';
import type { RerunCall, RerunRequest, RerunStore } from './rerun-store.ts';
import type { RunSignals } from './run-store.ts';
import { sendWindowMs } from './send-window.ts';
import type { Tool } from './tool.ts';

export interface RerunWorkerPorts extends InvokePorts {
  readonly organization: string;
  readonly agents: Pick<AgentDirectory, 'find'>;
  readonly store: RerunStore;
  readonly signals: Pick<RunSignals, 'onConfirmation'>;
}

/** Looks at the latest; a notification only makes it sooner. */
const LOOK_EVERY_MS = 1_500;
/** After a notification: one look for all that come together. */
const LOOK_SOON_MS = 100;
const AT_ONCE = 20;
const MOST_LOOKED_AT = 500;
/** Between two claims of the same grant; its whole time to send is ten seconds. */
const LONGEST_BACK_OFF_MS = 2_000;

/**
 * Runs calls of unknown outcome again that people have approved anew: the same invocation, so under the same
 * `Idempotency-Key`. A worker of its own, because the run may be over by then, or wait on another replica. The claim
 * says which of any number of processes it is; one that dies behind it leaves an unknown outcome again, unless it has
 * noted the answer.
 */
export class RerunWorker {
  readonly #ports: RerunWorkerPorts;
  readonly #running = new Map<ConfirmationId, Promise<void>>();
  readonly #never = new AbortController();
  readonly #stopping = new AbortController();
  #cancelTimer: () => void = () => {};
  #soon = false;
  #unsubscribe: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(ports: RerunWorkerPorts) {
    this.#ports = ports;
  }

  start(): void {
    this.#unsubscribe = this.#ports.signals.onConfirmation(() => this.#lookSoon());
    this.#schedule(LOOK_EVERY_MS);
  }

  /** What is claimed is sent, and comes to its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.abort(new Error('the service stops'));
    this.#unsubscribe();
    this.#cancelTimer();
    await this.#looking;
    await Promise.all(this.#running.values());
  }

  #lookSoon(): void {
    if (this.#soon || this.#stopped) return;
    this.#soon = true;
    this.#schedule(LOOK_SOON_MS);
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#ports.clock.setTimer(delayMs, () => {
      this.#soon = false;
      this.#looking = this.#look().then(() => {
        if (!this.#stopped && !this.#soon) this.#schedule(LOOK_EVERY_MS);
      });
    });
  }

  async #look(): Promise<void> {
    try {
      for (const answered of await this.#ports.store.answered(AT_ONCE)) await this.#recordAnswer(answered);
      for (const unwanted of await this.#ports.store.unwanted(AT_ONCE)) await this.#withdraw(unwanted);
      for (const { id, agent, tool } of await this.#ports.store.approved(MOST_LOOKED_AT)) {
        if (this.#stopped || this.#running.size >= AT_ONCE) break;
        if (this.#running.has(id)) continue;
        // Its server may come back while the grant is good. It keeps no other call from running.
        if (this.#ports.agents.find(agent)?.reach.isReachable(tool) === false) continue;
        const running = rerun(id, { never: this.#never.signal, stopping: this.#stopping.signal }, this.#ports)
          .catch((error: unknown) =>
            this.#ports.logger.error({ err: error, confirmation: id }, 'a call could not be run again'),
          )
          .finally(() => this.#running.delete(id));
        this.#running.set(id, running);
      }
    } catch (error) {
      this.#ports.logger.warn({ err: error }, 'calls to run again cannot be looked for; looking again');
    }
  }

  /** Its worker died, or is about to do so, between the two. */
  async #recordAnswer({ id, run, agent }: RerunRequest): Promise<void> {
    const actor = actorOfRun({ run, agent });
    await this.#ports.confirmations.recordOutcome({ id, actor, status: 'succeeded', detail: null });
  }

  /** Whoever cancelled the run, and wherever it stood: nobody shall go on being asked about it. */
  async #withdraw({ id, run, agent }: RerunRequest): Promise<void> {
    const actor = actorOfRun({ run, agent });
    await this.#ports.confirmations.cancel({ id, actor, reason: 'run_ended' satisfies OwnReason });
  }
}

async function rerun(
  id: ConfirmationId,
  { never, stopping }: { readonly never: AbortSignal; readonly stopping: AbortSignal },
  ports: RerunWorkerPorts,
): Promise<void> {
  const request = await ports.confirmations.get(id);
  if (request === null || request.invocationId === null) return;
  const found = await ports.store.find(request.invocationId);
  const ready = found && readyOf(found, request, never, ports);
  if (!ready) {
    const actor =
      request.runId === null
        ? { type: 'system' as const }
        : actorOfRun({ run: request.runId, agent: request.agent });
    await ports.confirmations.cancel({ id, actor, reason: 'not_repeatable' satisfies OwnReason });
    return;
  }
  const { call, tool, scope } = ready;
  const sendBeforeMs = await claim(request, scope, stopping, ports);
  if (sendBeforeMs !== null) await run(call, tool, sendBeforeMs, scope, ports);
}

interface Ready {
  readonly call: OpenCall;
  readonly tool: Tool;
  readonly scope: ExecutionScope;
}

/** Null where it makes no sense any more: the run was cancelled, the agent lost the tool, or the outcome is known. */
function readyOf(
  { run: facts, runStatus, invocation }: RerunCall,
  request: ConfirmationRequest,
  signal: AbortSignal,
  ports: RerunWorkerPorts,
): Ready | null {
  const setup = ports.agents.find(facts.agent);
  const tool = setup?.tools().find(({ name }) => name === request.tool);
  if (!setup || !tool || runStatus === 'cancelled' || invocation.status !== 'unknown') return null;
  return {
    tool,
    call: {
      id: invocation.id,
      callId: invocation.callId,
      toolName: request.tool,
      tool,
      args: request.args,
      confirmation: request.id,
      sideEffects: invocation.sideEffects,
      startedAtMs: ports.clock.monotonic(),
    },
    scope: {
      run: facts.id,
      parentRun: facts.parent?.run ?? null,
      organization: ports.organization,
      agent: facts.agent,
      person: facts.requester?.id ?? null,
      requesterNamedByAgent: facts.requesterNamedByAgent,
      session: facts.session,
      evaluation: facts.evaluation,
      hooks: setup.hooks,
      log: ports.store.log({ run: facts, runStatus, invocation }),
      signal,
    },
  };
}

/**
 * Until when it may be sent, on the monotonic clock; null where it may not be: another process has it, or it is stopped.
 * A claim that breaks may have been made: it is repeated under its token until the database says so or not. A grant of
 * ours that is found too late goes back at once, as one that was not sent.
 */
async function claim(
  { id, args }: ConfirmationRequest,
  scope: ExecutionScope,
  stopping: AbortSignal,
  { confirmations, clock, logger }: RerunWorkerPorts,
): Promise<number | null> {
  const { claimant, sinceMs } = newAttempt(clock);
  for (let faults = 0; ; ) {
    try {
      const outcome = await confirmations.claim({ id, actor: actorOfRun(scope), args, claimant });
      return outcome.kind === 'claimed' ? sinceMs + sendWindowMs(outcome.request, outcome.sendBy) : null;
    } catch (error) {
      faults += 1;
      logger.warn(
        { err: error, confirmation: id, faults },
        'the grant to run a call again cannot be claimed',
      );
      // Rejects where this process stops: then nobody knows, and in time the outcome is unknown.
      await sleep(clock, Math.min(100 * 2 ** faults, LONGEST_BACK_OFF_MS), stopping);
    }
  }
}
