import { approvalReasonsOf } from '../confirmation/approvals.ts';
import { maskArguments } from '../confirmation/argument-mask.ts';
import { ERRORS, type ErrorCode } from '../errors.ts';
import { dispatchPostToolUse } from '../hook/dispatch-post-tool-use.ts';
import { dispatchToolSettled } from '../hook/dispatch-tool-settled.ts';
import type { HookContext } from '../hook/hook-context.ts';
import { POST_TOOL_USE, TOOL_SETTLED } from '../hook/hook-point.ts';
import type { SideEffect } from '../hook/side-effect.ts';
import type { JsonValue } from '../json.ts';
import { callEndedEvent } from './call-audit.ts';
import {
  digestOfCall,
  type ExecutionScope,
  hookContextOf,
  type OpenCall,
  type SettledCall,
} from './call-scope.ts';
import { insist } from './insist.ts';
import { actorOfRun, hookFailureRecorder, type InvokePorts } from './invoke-ports.ts';
import {
  type BlockedCall,
  blockedObservation,
  failedObservation,
  stubbedObservation,
  succeededObservation,
  unknownObservation,
} from './observation.ts';
import type { InvocationError } from './run-record.ts';
import { throwIfSuspended } from './run-stop.ts';
import type { ToolOutcome } from './tool.ts';
import { resultText } from './tool-result.ts';

/** What became of a call that was sent, as the record keeps it. */
export type ExecutedOutcome =
  | { readonly status: 'succeeded'; readonly result: JsonValue; readonly error: null }
  | { readonly status: 'failed' | 'unknown'; readonly result: JsonValue; readonly error: InvocationError };

export function executedOutcomeOf(outcome: ToolOutcome): ExecutedOutcome {
  switch (outcome.kind) {
    case 'succeeded':
      return { status: 'succeeded', result: outcome.result, error: null };
    case 'failed':
      return {
        status: 'failed',
        result: outcome.result,
        error: { code: outcome.code, message: outcome.message },
      };
    case 'unknown':
      return { status: 'unknown', result: null, error: { code: 'unknown', message: outcome.message } };
  }
}

/** A call that does not run: on the record, told to the model, observed. */
export function endBlocked(
  call: OpenCall,
  blocked: BlockedCall,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  return end(call, scope, ports, {
    status: 'blocked',
    error: { code: blocked.code, message: blocked.message },
    result: null,
    view: blockedObservation(blocked),
  });
}

/**
 * A call of an evaluation run: answered, never asked about, never run. `because` says why where it is not the gate that
 * would have asked, but a result that is missing.
 */
export function endStubbed(
  call: OpenCall,
  because: string | null,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  return end(call, scope, ports, {
    status: 'stubbed',
    error: because === null ? null : { code: 'depends_on_stub', message: because },
    result: null,
    view: stubbedObservation(because),
  });
}

/**
 * A call that was sent. Every step may be repeated by the next worker after a crash: the real outcome first, then
 * the grant's receipt, which brings the approvers' reasons, then what the hooks make of the model's view.
 */
export async function endExecuted(
  call: OpenCall,
  outcome: ExecutedOutcome,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  // Where nothing is to be done between outcome and end, they are one write.
  if (call.confirmation === null && scope.hooks.at(POST_TOOL_USE).length === 0) {
    const view = viewOf(outcome, resultText(outcome.result), []);
    return end(call, scope, ports, { ...outcome, view, unwritten: true });
  }
  let reasons: readonly string[] = [];
  // A momentary fault of the database must not turn a known outcome into an unknown one.
  try {
    await insist(ports.clock, () => scope.log.executed({ id: call.id, ...outcome }));
  } finally {
    if (call.confirmation !== null)
      reasons = await recordReceipt(call, call.confirmation, outcome, scope, ports);
  }
  const { shown, sideEffects } = await hookedResult(call, outcome, scope, ports);
  const view = viewOf(outcome, shown, reasons);
  const seen: OpenCall = { ...call, sideEffects: [...call.sideEffects, ...sideEffects] };
  return end(seen, scope, ports, { ...outcome, view });
}

/** Why people approved, as the request says by then: also where its receipt had been taken before a crash. */
async function recordReceipt(
  call: OpenCall,
  id: NonNullable<OpenCall['confirmation']>,
  outcome: ExecutedOutcome,
  scope: ExecutionScope,
  { confirmations, clock, logger }: InvokePorts,
): Promise<readonly string[]> {
  try {
    const { status, error } = outcome;
    const receipt = await insist(clock, () =>
      confirmations.recordOutcome({ id, actor: actorOfRun(scope), status, detail: error?.message ?? null }),
    );
    if (receipt.kind !== 'recorded')
      logger.warn(
        { confirmation: id, invocation: call.id, receipt: receipt.kind },
        'the outcome was not taken',
      );
    return receipt.kind === 'not-found' ? [] : approvalReasonsOf(receipt.request);
  } catch (error) {
    // The request becomes `unknown` by itself and a person looks; the invocation holds what is known.
    logger.error({ err: error, confirmation: id, invocation: call.id }, 'the outcome cannot be recorded');
    return [];
  }
}

/** What the model sees of an outcome of which `shown` is the result's text. */
function viewOf(outcome: ExecutedOutcome, shown: string, reasons: readonly string[]): string {
  switch (outcome.status) {
    case 'succeeded':
      return succeededObservation(shown, reasons);
    case 'failed': {
      const { message } = outcome.error;
      const answer = outcome.result === null ? null : shown;
      return failedObservation({ code: errorCodeOf(outcome.error), message, answer }, reasons);
    }
    case 'unknown':
      return unknownObservation(outcome.error.message, reasons);
  }
}

/** The result's text as the hooks leave it: they see the tool's word alone, not what people wrote. */
async function hookedResult(
  call: OpenCall,
  outcome: ExecutedOutcome,
  scope: ExecutionScope,
  ports: InvokePorts,
): Promise<{ shown: string; sideEffects: readonly SideEffect[] }> {
  if (outcome.status !== 'succeeded' && outcome.result === null) {
    return { shown: '', sideEffects: [] };
  }
  const { view, sideEffects } = await dispatchPostToolUse({
    registry: scope.hooks,
    context: { ...shownContextOf(call, scope, ports), toolResult: resultText(outcome.result) },
    signal: scope.signal,
    clock: ports.clock,
    onHookFailed: hookFailureRecorder(ports, scope),
  });
  // A view withheld only because this process stops is not what the model should see.
  throwIfSuspended(scope.signal);
  return { shown: view, sideEffects };
}

async function end(
  call: OpenCall,
  scope: ExecutionScope,
  ports: InvokePorts,
  ending: {
    readonly status: SettledCall['status'];
    readonly error: InvocationError | null;
    readonly result: JsonValue;
    readonly view: string;
    /** The result is not on the record yet. */
    readonly unwritten?: true;
  },
): Promise<SettledCall> {
  const { status, error, view } = ending;
  const code = error?.code ?? null;
  const durationMs = Math.max(0, Math.round(ports.clock.monotonic() - call.startedAtMs));
  const event = callEndedEvent(call, scope, { status, code, durationMs });
  const { id, confirmation, sideEffects } = call;
  await insist(ports.clock, () =>
    scope.log.settled({
      ...{ id, status, error, confirmation, view, sideEffects, event },
      ...(ending.unwritten && { result: ending.result }),
    }),
  );
  const argsDigest = call.tool === null ? null : digestOfCall(call, scope);
  await observe(call, scope, ports, { status, code, durationMs, argsDigest });
  return { id, status, code, view, result: ending.result, confirmation };
}

/** Observers steer nothing: not even by failing. */
async function observe(
  call: OpenCall,
  scope: ExecutionScope,
  ports: InvokePorts,
  settlement: Omit<Parameters<typeof dispatchToolSettled>[0]['context']['settlement'], 'confirmationId'>,
): Promise<void> {
  if (scope.hooks.at(TOOL_SETTLED).length === 0) return;
  try {
    await dispatchToolSettled({
      registry: scope.hooks,
      context: {
        ...shownContextOf(call, scope, ports),
        settlement: { ...settlement, confirmationId: call.confirmation },
      },
      clock: ports.clock,
      onHookFailed: hookFailureRecorder(ports, scope),
    });
  } catch (error) {
    ports.logger.error({ err: error, invocation: call.id }, 'the observers of a settled call failed');
  }
}

/**
 * The call as hooks see it that come after it. They decide nothing about it any more, and are where copies leave the
 * service from: so they are shown of the arguments what cards show.
 */
function shownContextOf(
  call: OpenCall,
  scope: ExecutionScope,
  { mask }: Pick<InvokePorts, 'mask'>,
): HookContext {
  const { args } = maskArguments(call.args, call.tool?.decisiveFields ?? [], mask);
  return { ...hookContextOf(call, scope), toolArgs: args };
}

const errorCodeOf = (error: InvocationError): ErrorCode =>
  Object.hasOwn(ERRORS, error.code) ? (error.code as ErrorCode) : 'tool_failed';
