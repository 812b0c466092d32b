import { sleep } from '../clock.ts';
import { REJECTED_BEFORE } from '../confirmation/gate.ts';
import type { OwnReason } from '../confirmation/own-reason.ts';
import { dispatchPreToolUse } from '../hook/dispatch-pre-tool-use.ts';
import type { ConfirmationId } from '../ids.ts';
import { awaitApproval } from './await-approval.ts';
import { argumentsShown, checkRewritten, type ReadArguments, readArguments } from './call-arguments.ts';
import {
  type CallScope,
  digestOfProposal,
  type ExecutionScope,
  hookContextOf,
  type OpenCall,
  type ProposedCall,
  type SettledCall,
} from './call-scope.ts';
import { endBlocked, endExecuted, endStubbed, executedOutcomeOf } from './end-call.ts';
import { endSpent } from './end-spent.ts';
import { insist } from './insist.ts';
import { actorOfRun, hookFailureRecorder, type InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES, type BlockedCall } from './observation.ts';
import { isSuspended, throwIfSuspended } from './run-stop.ts';
import { NOT_SENT, SEND_WITHIN_MS } from './send-window.ts';
import type { Tool, ToolOutcome } from './tool.ts';
import { awaitTool, NOT_LISTED } from './tool-reach.ts';

/** How long a tool may take to notice that its time is over. */
const ABORT_GRACE_MS = 1_000;

/**
 * One call of a tool, from the model's words to the observation: the single way in which any executor runs anything.
 * Every end is a value. It throws only where nothing more can be known or written here: the process stops
 * (`RunStop`), another worker has the run (`LeaseLost`), or the database is gone; the run is then taken up again
 * from its rows, and nothing that may have been sent is sent again.
 */
export async function invokeTool(
  proposed: ProposedCall,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  await awaitListing(proposed.tool, scope);
  const { call, parsed } = openCall(proposed, scope, ports);
  const { rejectedBefore } = await scope.log.proposed({
    id: call.id,
    position: proposed.position,
    callId: call.callId,
    tool: call.toolName,
    args: call.args,
    proposedDigest: call.tool === null || parsed.kind !== 'parsed' ? null : digestOfProposal(call, scope),
  });
  return judge(call, { parsed, rejectedBefore }, scope, ports);
}

/** A tool that only seems to be missing, because its server has not listed any yet. */
export async function awaitListing(name: string, scope: CallScope): Promise<void> {
  if (scope.reach.isUnlisted(name)) await awaitTool(name, scope);
}

/** The call as it was proposed, its arguments read without loss. */
export function openCall(
  proposed: ProposedCall,
  scope: CallScope,
  ports: Pick<InvokePorts, 'clock'>,
): { readonly call: OpenCall; readonly parsed: ReadArguments } {
  const parsed = readArguments(proposed.arguments);
  return {
    parsed,
    call: {
      id: proposed.id,
      callId: proposed.callId,
      toolName: proposed.tool,
      tool: scope.tools().get(proposed.tool) ?? null,
      args: argumentsShown(parsed),
      confirmation: null,
      sideEffects: [],
      startedAtMs: ports.clock.monotonic(),
    },
  };
}

/** Everything before a person or the tool: tool, arguments, hooks, gate. No exception in here lets a call run. */
export async function judge(
  call: OpenCall,
  { parsed, rejectedBefore }: { readonly parsed: ReadArguments; readonly rejectedBefore: boolean },
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const { tool } = call;
  if (tool === null) {
    const blocked = scope.reach.isUnlisted(call.toolName)
      ? blockedBy('gate_unavailable', NOT_LISTED)
      : blockedBy('unknown_tool', `There is no tool named ${quoted(call.toolName)}.`);
    return endBlocked(call, blocked, scope, ports);
  }
  if (parsed.kind === 'refused') {
    return endBlocked(call, blockedBy('invalid_arguments', parsed.message), scope, ports);
  }
  // Before the hooks: what they would judge is not known.
  if (parsed.kind === 'unknowable') return endStubbed(call, parsed.message, scope, ports);
  const check = tool.validate(call.args);
  if (check.kind === 'invalid') {
    return endBlocked(call, blockedBy('invalid_arguments', check.message), scope, ports);
  }
  if (rejectedBefore) {
    return endBlocked(call, blockedBy('rejected', REJECTED_BEFORE), scope, ports);
  }

  const verdict = await dispatchPreToolUse({
    registry: scope.hooks,
    context: hookContextOf(call, scope),
    validateArgs: (args) => checkRewritten(tool, args),
    signal: scope.signal,
    clock: ports.clock,
    onHookFailed: hookFailureRecorder(ports, scope),
  });
  throwIfSuspended(scope.signal);

  const judged: OpenCall = { ...call, sideEffects: verdict.sideEffects };
  switch (verdict.kind) {
    case 'denied':
      if (verdict.failure || verdict.code === 'cancelled') await withdrawUnnoted(call, scope, ports);
      return endBlocked(
        { ...judged, confirmation: verdict.confirmationId },
        { code: verdict.code, message: verdict.message, reason: null, retryAfter: verdict.retryAfter },
        scope,
        ports,
      );
    case 'stubbed':
      return endStubbed({ ...judged, args: verdict.args }, null, scope, ports);
    case 'pending': {
      const asked: OpenCall = { ...judged, args: verdict.args, confirmation: verdict.confirmationId };
      await scope.log.waiting({
        id: call.id,
        confirmation: verdict.confirmationId,
        args: asked.args,
        sideEffects: asked.sideEffects,
      });
      return runOnceApproved(asked, verdict.confirmationId, scope, ports);
    }
    case 'allowed':
      return run({ ...judged, args: verdict.args }, tool, null, scope, ports);
  }
}

/** Waits for people, claims, and runs exactly what they approved. */
export async function runOnceApproved(
  call: OpenCall,
  confirmation: ConfirmationId,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const approval = await awaitApproval(call, confirmation, scope, ports);
  switch (approval.kind) {
    case 'claimed':
      return run({ ...call, tool: approval.tool }, approval.tool, approval.sendBeforeMs, scope, ports);
    case 'blocked':
      return endBlocked(call, approval.blocked, scope, ports);
    case 'spent':
      return endSpent(call, { executingAt: null }, scope, ports);
  }
}

/** Sends the call, once. `sendBeforeMs` is the claim's limit on the monotonic clock; null: nobody had to approve. */
export async function run(
  call: OpenCall,
  tool: Tool,
  sendBeforeMs: number | null,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const notedAtMs = ports.clock.monotonic();
  let noted: { readonly wanted: boolean };
  try {
    // A momentary fault of the database must not use up what people approved: the time to send allows for a few.
    noted = await insist(ports.clock, () =>
      scope.log.executing({ id: call.id, args: call.args, sideEffects: call.sideEffects }),
    );
  } catch (error) {
    await returnGrant(call, scope, ports);
    throw error;
  }
  // Right before sending, on a clock that never steps back: a worker that stood still must not send any more.
  const inTime = ports.clock.monotonic() <= (sendBeforeMs ?? notedAtMs + SEND_WITHIN_MS);
  // A process that stops still sends what it has noted and claimed: it is drained, not cut off.
  const cancelled = !noted.wanted || (scope.signal.aborted && !isSuspended(scope.signal));
  if (!inTime || cancelled) {
    await returnGrant(call, scope, ports);
    const code = inTime ? 'cancelled' : 'lapsed';
    return endBlocked(call, blockedBy(code, BLOCK_MESSAGES[code]), scope, ports);
  }
  return send(call, tool, scope, ports);
}

/** Executes a call that is noted as executing, and brings it to its end. A tool that joins may be called so again. */
export async function send(
  call: OpenCall,
  tool: Tool,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const outcome = await execute(call, tool, scope.signal, ports);
  return endExecuted(call, executedOutcomeOf(outcome), scope, ports);
}

/** The only place that calls a tool. Throws only for a tool that can be joined again: a delegate's run. */
async function execute(
  call: OpenCall,
  tool: Tool,
  unwanted: AbortSignal,
  { clock, logger }: InvokePorts,
): Promise<ToolOutcome> {
  const time = new AbortController();
  const cancelTimer =
    tool.timeoutMs === null
      ? () => {}
      : clock.setTimer(tool.timeoutMs, () => time.abort(new Error('timed out')));
  try {
    const execution = tool.execute({
      args: call.args,
      invocationId: call.id,
      signal: time.signal,
      unwanted,
    });
    return await Promise.race([execution, timedOut(time.signal, clock)]);
  } catch (error) {
    // It can be joined again, so whatever broke our waiting says nothing about it.
    if (tool.joinsRunning) throw error;
    logger.error(
      { err: error, invocation: call.id, tool: tool.name },
      'the tool threw; its outcome is unknown',
    );
    return { kind: 'unknown', message: 'The tool broke off.' };
  } finally {
    cancelTimer();
  }
}

function timedOut(signal: AbortSignal, clock: InvokePorts['clock']): Promise<ToolOutcome> {
  return new Promise((resolve) => {
    signal.addEventListener(
      'abort',
      () =>
        void sleep(clock, ABORT_GRACE_MS).then(() =>
          resolve({ kind: 'unknown', message: 'The tool did not answer in time.' }),
        ),
      { once: true },
    );
  });
}

/** The request of a gate that was interrupted after it had stored one: nobody should decide about it any more. */
async function withdrawUnnoted(call: OpenCall, scope: CallScope, ports: InvokePorts): Promise<void> {
  try {
    // Another worker may have the run, and wait for that very request.
    await scope.log.heldAt();
    const id = await scope.log.confirmationOf(call.id);
    if (id === null) return;
    await ports.confirmations.cancel({
      id,
      actor: actorOfRun(scope),
      reason: 'call_given_up' satisfies OwnReason,
    });
  } catch (error) {
    // The card stays open until its deadline; its grant belongs to this run and is never used.
    ports.logger.warn(
      { err: error, invocation: call.id },
      'a request that nobody waits for cannot be withdrawn',
    );
  }
}

/** The claimed grant of a call that was certainly not sent. */
async function returnGrant(
  call: OpenCall,
  scope: ExecutionScope,
  { confirmations, logger }: InvokePorts,
): Promise<void> {
  if (call.confirmation === null) return;
  await confirmations
    .recordOutcome({ id: call.confirmation, actor: actorOfRun(scope), status: 'failed', detail: NOT_SENT })
    .catch((error: unknown) =>
      logger.error(
        { err: error, confirmation: call.confirmation },
        'that the call was not sent cannot be recorded',
      ),
    );
}

const blockedBy = (code: BlockedCall['code'], message: string): BlockedCall => ({
  code,
  message,
  reason: null,
  retryAfter: null,
});

const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));
