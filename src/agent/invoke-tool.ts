import { sleep } from '../clock.ts';
import { faultOfArguments, type ParsedJson, parseArguments } from '../confirmation/arguments.ts';
import { dispatchPreToolUse } from '../hook/dispatch-pre-tool-use.ts';
import type { ConfirmationId } from '../ids.ts';
import { awaitApproval } from './await-approval.ts';
import {
  type CallScope,
  digestOfCall,
  hookContextOf,
  type OpenCall,
  type ProposedCall,
  type SettledCall,
} from './call-scope.ts';
import { endBlocked, endExecuted, endStubbed, executedOutcomeOf } from './end-call.ts';
import { actorOfRun, hookFailureRecorder, type InvokePorts } from './invoke-ports.ts';
import { BLOCK_MESSAGES, type BlockedCall, REJECTED_BEFORE } from './observation.ts';
import { LeaseLost } from './run-record.ts';
import { throwIfSuspended } from './run-stop.ts';
import type { Tool, ToolOutcome } from './tool.ts';

/** How long after it was noted a call that needed no confirmation may still be sent, in milliseconds. */
export const SEND_WITHIN_MS = 10_000;
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
  const { call, parsed } = openCall(proposed, scope, ports);
  await scope.log.proposed({
    id: call.id,
    position: proposed.position,
    callId: call.callId,
    tool: call.toolName,
    args: call.args,
    proposedDigest: call.tool === null || parsed.kind === 'refused' ? null : digestOfCall(call, scope),
  });
  return judge(call, parsed, scope, ports);
}

/** The call as it was proposed, its arguments read without loss. */
export function openCall(
  proposed: ProposedCall,
  scope: CallScope,
  ports: Pick<InvokePorts, 'clock'>,
): { readonly call: OpenCall; readonly parsed: ParsedJson } {
  const parsed = readArguments(proposed.arguments);
  return {
    parsed,
    call: {
      id: proposed.id,
      callId: proposed.callId,
      toolName: proposed.tool,
      tool: scope.tools.get(proposed.tool) ?? null,
      args: parsed.kind === 'parsed' ? parsed.value : {},
      confirmation: null,
      sideEffects: [],
      startedAtMs: ports.clock.monotonic(),
    },
  };
}

/** Everything before a person or the tool: tool, arguments, hooks, gate. No exception in here lets a call run. */
export async function judge(
  call: OpenCall,
  parsed: ParsedJson,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const { tool } = call;
  if (tool === null) {
    return endBlocked(
      call,
      blockedBy('unknown_tool', `There is no tool named ${quoted(call.toolName)}.`),
      scope,
      ports,
    );
  }
  if (parsed.kind === 'refused') {
    return endBlocked(call, blockedBy('invalid_arguments', parsed.message), scope, ports);
  }
  const check = tool.validate(call.args);
  if (check.kind === 'invalid') {
    return endBlocked(call, blockedBy('invalid_arguments', check.message), scope, ports);
  }
  if (await scope.log.wasRejected(digestOfCall(call, scope))) {
    return endBlocked(call, blockedBy('rejected', REJECTED_BEFORE), scope, ports);
  }

  let verdict: Awaited<ReturnType<typeof dispatchPreToolUse>>;
  try {
    verdict = await dispatchPreToolUse({
      registry: scope.hooks,
      context: hookContextOf(call, scope),
      validateArgs: (args) => validateRewritten(tool, args),
      signal: scope.signal,
      clock: ports.clock,
      onHookFailed: hookFailureRecorder(ports.audit, scope),
    });
  } catch (error) {
    throwIfSuspended(scope.signal);
    ports.logger.error(
      { err: error, invocation: call.id },
      'the hooks cannot be asked; the call does not run',
    );
    return endBlocked(call, gateUnavailable, scope, ports);
  }
  throwIfSuspended(scope.signal);

  const judged: OpenCall = { ...call, sideEffects: verdict.sideEffects };
  switch (verdict.kind) {
    case 'denied':
      return endBlocked(
        judged,
        { code: verdict.code, message: verdict.message, reason: null, retryAfter: verdict.retryAfter },
        scope,
        ports,
      );
    case 'stubbed':
      return endStubbed({ ...judged, args: verdict.args }, scope, ports);
    case 'pending': {
      const asked: OpenCall = { ...judged, args: verdict.args, confirmation: verdict.confirmationId };
      await scope.log.waiting({
        id: call.id,
        confirmation: verdict.confirmationId,
        args: asked.args,
        sideEffects: asked.sideEffects,
      });
      return runOnceApproved(asked, tool, verdict.confirmationId, scope, ports);
    }
    case 'allowed':
      return run({ ...judged, args: verdict.args }, tool, null, scope, ports);
  }
}

/** Waits for people, claims, and runs exactly what they approved. */
export async function runOnceApproved(
  call: OpenCall,
  tool: Tool,
  confirmation: ConfirmationId,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const approval = await awaitApproval(call, confirmation, scope, ports);
  switch (approval.kind) {
    case 'claimed':
      return run(call, tool, approval.sendBeforeMs, scope, ports);
    case 'blocked':
      return endBlocked(call, approval.blocked, scope, ports);
    case 'spent':
      return endSpent(call, tool, confirmation, scope, ports);
  }
}

/** Sends the call, once. `sendBeforeMs` is the claim's limit on the monotonic clock; null: nobody had to approve. */
export async function run(
  call: OpenCall,
  tool: Tool,
  sendBeforeMs: number | null,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const notedAtMs = ports.clock.monotonic();
  try {
    await scope.log.executing({ id: call.id, args: call.args, sideEffects: call.sideEffects });
  } catch (error) {
    await returnGrant(call, scope, ports);
    throw error;
  }
  // Right before sending, on a clock that never steps back: a worker that stood still must not send any more.
  const inTime = ports.clock.monotonic() <= (sendBeforeMs ?? notedAtMs + SEND_WITHIN_MS);
  if (!inTime || scope.signal.aborted) {
    await returnGrant(call, scope, ports);
    if (!tool.joinsRunning) throwIfSuspended(scope.signal);
    const code = inTime ? 'cancelled' : 'lapsed';
    return endBlocked(call, blockedBy(code, BLOCK_MESSAGES[code]), scope, ports);
  }
  const outcome = await execute(call, tool, scope, ports);
  return endExecuted(call, executedOutcomeOf(outcome), scope, ports);
}

/** The only place that calls a tool. Never throws but for a delegate's run that is suspended with ours. */
async function execute(
  call: OpenCall,
  tool: Tool,
  scope: CallScope,
  { clock, logger }: InvokePorts,
): Promise<ToolOutcome> {
  const time = new AbortController();
  const cancelTimer =
    tool.timeoutMs === null
      ? () => {}
      : clock.setTimer(tool.timeoutMs, () => time.abort(new Error('timed out')));
  try {
    const execution = tool.execute({ args: call.args, invocationId: call.id, signal: time.signal });
    return await Promise.race([execution, timedOut(time.signal, clock)]);
  } catch (error) {
    if (tool.joinsRunning) throwIfSuspended(scope.signal);
    if (error instanceof LeaseLost) throw error;
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

/** An earlier worker may have sent the call: what became of it is what is on record, or unknown. Never sent again. */
export async function endSpent(
  call: OpenCall,
  tool: Tool | null,
  confirmation: ConfirmationId | null,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const request = confirmation === null ? null : await ports.confirmations.get(confirmation);
  if (request?.status === 'approved') {
    const { execution } = request;
    if (execution.status === 'claimed') {
      // Until then the earlier worker may still be at it, and its own word is better than ours.
      const overAt = execution.sendBy.getTime() + (tool?.timeoutMs ?? 0) + ABORT_GRACE_MS;
      const leftMs = overAt - ports.clock.now();
      if (leftMs > 0) {
        await sleep(ports.clock, leftMs, scope.signal).catch(() => throwIfSuspended(scope.signal));
        if (!scope.signal.aborted) return endSpent(call, tool, confirmation, scope, ports);
      }
    }
    if (execution.status === 'succeeded') {
      return endExecuted(call, { status: 'succeeded', result: execution.detail, error: null }, scope, ports);
    }
    if (execution.status === 'failed') {
      const message = execution.detail ?? 'The tool failed.';
      return endExecuted(
        call,
        { status: 'failed', result: null, error: { code: 'tool_failed', message } },
        scope,
        ports,
      );
    }
  }
  const message = 'The service stopped while the tool was running.';
  return endExecuted(
    call,
    { status: 'unknown', result: null, error: { code: 'unknown', message } },
    scope,
    ports,
  );
}

/** The claimed grant of a call that was certainly not sent. */
async function returnGrant(
  call: OpenCall,
  scope: CallScope,
  { confirmations, logger }: InvokePorts,
): Promise<void> {
  if (call.confirmation === null) return;
  await confirmations
    .recordOutcome({ id: call.confirmation, actor: actorOfRun(scope), status: 'failed', detail: 'not sent' })
    .catch((error: unknown) =>
      logger.error(
        { err: error, confirmation: call.confirmation },
        'that the call was not sent cannot be recorded',
      ),
    );
}

function readArguments(given: ProposedCall['arguments']): ParsedJson {
  // Models send nothing at all for a tool without arguments.
  if (given.kind === 'text') return parseArguments(given.text.trim() === '' ? '{}' : given.text);
  const fault = faultOfArguments(given.args);
  return fault === null
    ? { kind: 'parsed', value: given.args }
    : { kind: 'refused', code: 'invalid_arguments', message: fault };
}

/** What is wrong with arguments that a hook rewrote; null where nothing is. */
export function validateRewritten(tool: Pick<Tool, 'validate'>, args: OpenCall['args']): string | null {
  const fault = faultOfArguments(args);
  if (fault !== null) return fault;
  const check = tool.validate(args);
  return check.kind === 'valid' ? null : check.message;
}

const blockedBy = (code: BlockedCall['code'], message: string): BlockedCall => ({
  code,
  message,
  reason: null,
  retryAfter: null,
});

const gateUnavailable = blockedBy('gate_unavailable', BLOCK_MESSAGES.gate_unavailable);

const quoted = (name: string): string => JSON.stringify(name.slice(0, 100));
