import type { OwnReason } from '../confirmation/own-reason.ts';
import type { ReadArguments } from './call-arguments.ts';
import {
  type CallScope,
  digestOfProposal,
  type OpenCall,
  type ProposedCall,
  type SettledCall,
} from './call-scope.ts';
import { type ExecutedOutcome, endBlocked, endExecuted } from './end-call.ts';
import { endSpent } from './end-spent.ts';
import { actorOfRun, type InvokePorts } from './invoke-ports.ts';
import { awaitListing, judge, openCall, runOnceApproved, send } from './invoke-tool.ts';
import type { StoredInvocation } from './run-record.ts';

/**
 * Takes up a call that an earlier worker left, wherever it stood: asked again from the start where nothing had been
 * stored for people yet, waited for again where a card is open, told as it ended where it had, and never sent where
 * it may have been sent before.
 */
export async function resumeCall(
  proposed: ProposedCall,
  stored: StoredInvocation,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  if (stored.phase === 'proposed') await awaitListing(proposed.tool, scope);
  const { call: opened, parsed } = openCall({ ...proposed, id: stored.id }, scope, ports);
  const call: OpenCall = {
    ...opened,
    args: stored.phase === 'proposed' ? opened.args : stored.args,
    confirmation: stored.confirmation,
    sideEffects: stored.sideEffects,
  };
  switch (stored.phase) {
    case 'settled':
      return settledBefore(stored);
    case 'executed':
      return endExecuted(call, outcomeBefore(stored), scope, ports);
    case 'executing':
      // Also where the run was cancelled meanwhile: the delegate's run is then stopped, not forgotten.
      if (call.tool?.joinsRunning) return send(call, call.tool, scope, ports);
      return endSpent(call, stored, scope, ports);
    case 'waiting':
      return waitAgain(call, scope, ports);
    case 'proposed':
      return judgeAgain(call, parsed, scope, ports);
  }
}

function waitAgain(call: OpenCall, scope: CallScope, ports: InvokePorts): Promise<SettledCall> {
  if (call.confirmation === null) throw new Error(`invocation ${call.id} waits for no confirmation`);
  const isGone = call.tool === null && !scope.reach.isUnlisted(call.toolName);
  if (isGone) return withdrawGone(call, scope, ports);
  return runOnceApproved(call, call.confirmation, scope, ports);
}

/** The gate may have stored its request just before the crash: then people are asked already, once. */
async function judgeAgain(
  call: OpenCall,
  parsed: ReadArguments,
  scope: CallScope,
  ports: InvokePorts,
): Promise<SettledCall> {
  const confirmation = await scope.log.confirmationOf(call.id);
  const request = confirmation === null ? null : await ports.confirmations.get(confirmation);
  if (request === null) {
    const rejectedBefore = await scope.log.wasRejected(digestOfProposal(call, scope));
    return judge(call, { parsed, rejectedBefore }, scope, ports);
  }
  const asked: OpenCall = { ...call, args: request.args, confirmation: request.id };
  await scope.log.waiting({
    id: call.id,
    confirmation: request.id,
    args: request.args,
    sideEffects: call.sideEffects,
  });
  return waitAgain(asked, scope, ports);
}

/** The agent lost the tool while people were asked about it. */
async function withdrawGone(call: OpenCall, scope: CallScope, ports: InvokePorts): Promise<SettledCall> {
  if (call.confirmation !== null) {
    await ports.confirmations.cancel({
      id: call.confirmation,
      actor: actorOfRun(scope),
      reason: 'tool_gone' satisfies OwnReason,
    });
  }
  const message = 'The tool is no longer there. The call was not executed.';
  return endBlocked(call, { code: 'unknown_tool', message, reason: null, retryAfter: null }, scope, ports);
}

function outcomeBefore(stored: StoredInvocation): ExecutedOutcome {
  if (stored.status === 'succeeded') return { status: 'succeeded', result: stored.result, error: null };
  return {
    status: stored.status === 'failed' ? 'failed' : 'unknown',
    result: stored.result,
    error: stored.error ?? { code: 'unknown', message: 'The tool broke off.' },
  };
}

function settledBefore(stored: StoredInvocation): SettledCall {
  const { id, status, view, error, result, confirmation } = stored;
  if (status === 'waiting' || status === 'running' || status === 'skipped' || view === null) {
    throw new Error(`invocation ${id} is settled as ${status}`);
  }
  return { id, status, code: error?.code ?? null, view, result, confirmation };
}
