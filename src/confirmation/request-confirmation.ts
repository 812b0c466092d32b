import { CountersignError } from '../errors.ts';
import type { HookContext } from '../hook/hook-context.ts';
import { type ConfirmationId, confirmationIdOf, newConfirmationId, type PersonId } from '../ids.ts';
import { type ArgumentMask, MASK_BY_SHAPE } from './argument-mask.ts';
import { askPeopleInside } from './ask-people.ts';
import { cancel } from './cancel.ts';
import { firstPlaces, type Reach } from './card-places.ts';
import type { DecisiveField, PersonRef } from './confirmation-request.ts';
import { digestOf, verificationCodeOf } from './digest.ts';
import { freezeApprover, freezePolicy } from './freeze-rule.ts';
import { freezeExplanation } from './frozen-explanation.ts';
import {
  type ConfirmationGate,
  type GateAnswer,
  type GatedCall,
  isHandover,
  REJECTED_BEFORE,
} from './gate.ts';
import { type GateControls, stoppedBy } from './gate-controls.ts';
import { pointerOf, valueAt } from './json-pointer.ts';
import type { ConfirmationLedger, LedgerTransaction, NewConfirmation } from './ledger.ts';
import type { OwnReason } from './own-reason.ts';
import type { PersonDirectory } from './person-directory.ts';
import type { DecidingPolicy, PolicyEvaluator } from './policy-evaluator.ts';
import type { PolicyTrial } from './policy-trial.ts';
import { closeOutdated, lockOutdated, sameCallOf } from './supersede.ts';
import type { ToolFacts } from './tool-facts.ts';

export interface GatePorts {
  readonly organization: string;
  readonly configRevision: string;
  readonly ledger: ConfirmationLedger;
  readonly people: PersonDirectory;
  readonly policies: PolicyEvaluator;
  readonly toolFacts: ToolFacts;
  readonly reach: Reach;
  /** What is never shown cannot decide; by default what is secret by its name. */
  readonly mask?: ArgumentMask;
  readonly ownerOf: (agent: string) => PersonId | null;
  /** Key of the verification code, the same on every replica. */
  readonly verificationKey: string;
}

/**
 * The gate's question, in one transaction: which rule applies to exactly these arguments, and if one does, the
 * request with its frozen rule and people, its audit event and its deliveries. It never waits for a person.
 */
export const createConfirmationGate = (ports: GatePorts): ConfirmationGate => ({
  async ask(call: GatedCall): Promise<GateAnswer> {
    const { context } = call;
    const question = {
      tool: context.toolName,
      args: context.toolArgs,
      agent: context.agentId,
      requester: context.userId ?? '',
      session: context.sessionId ?? '',
      metadata: context.metadata.ask?.metadata ?? {},
      flagged: context.metadata.requiresConfirmation || call.confirmationForAll,
    };
    const match = ports.policies.evaluate(question);
    if (match.kind === 'none') return notAsked(context, ports);
    if (match.kind === 'failed') {
      return { kind: 'denied', code: 'policy_error', message: policyError(match), confirmationId: null };
    }
    if (context.metadata.evaluation) return { kind: 'stubbed' };
    // What the hooks make of it may be what somebody said no to, however the model spelt it this time.
    const { runId, toolName, toolArgs } = context;
    if (runId !== null && (await ports.ledger.wasRejected({ run: runId, tool: toolName, args: toolArgs }))) {
      return { kind: 'denied', code: 'rejected', message: REJECTED_BEFORE, confirmationId: null };
    }
    // Evaluated once more, with the same answer, for what became of each rule: calls that nobody is asked about, which
    // are most, shall not pay for that.
    const trials: PolicyTrial[] = [];
    ports.policies.evaluate(question, trials);
    const { policy } = match;
    const { flagged } = question;
    const explanation = freezeExplanation({ policy, trials, flagged, people: ports.people });
    const facts = { ...newConfirmation(context, policy, ports), explanation };
    const stored = await ports.ledger.transact((transaction) => store(transaction, call, facts, ports));
    // Read outside the transaction: as many callers at once as there are connections would wait for each other.
    if (stored === null) return repeated(context, facts, ports);
    if ('kind' in stored) return stored;
    // The asker's time was over, or its run cancelled, during the commit: nobody should decide about it any more.
    if (call.signal.aborted && !isHandover(call.signal)) {
      const reason: OwnReason = 'call_given_up';
      await cancel({ id: stored.created, actor: { type: 'system' }, reason }, ports);
    }
    return stored.answer;
  },
});

/** The arguments that the agent asked about before must not run beside those that need nobody's confirmation. */
async function notAsked(context: HookContext, ports: GatePorts): Promise<GateAnswer> {
  const stop = stopped(context, await ports.ledger.controls());
  if (stop !== null) return stop;
  const call = sameCallOf(context);
  if (call !== null) {
    const argsDigest = digestOf(callOf(context, ports));
    await ports.ledger.transact(async (transaction) => {
      const outdated = await lockOutdated(transaction, call, argsDigest);
      await closeOutdated(transaction, outdated, { call, successor: null });
    });
  }
  return { kind: 'not-needed' };
}

interface Stored {
  readonly answer: GateAnswer;
  readonly created: ConfirmationId;
}

/** Null where this Idempotency-Key, or this invocation of a run, has its request already. */
async function store(
  transaction: LedgerTransaction,
  { context, signal }: GatedCall,
  facts: NewConfirmation,
  ports: GatePorts,
): Promise<Stored | StoppedCall | null> {
  // Held until the request is stored: a freeze that begins meanwhile waits for it, and then marks its cards too.
  const controls = await transaction.lockControls();
  const denial = stopped(context, controls);
  if (denial?.code === 'read_only') return denial;
  const call = sameCallOf(context);
  const outdated = call === null ? [] : await lockOutdated(transaction, call, facts.argsDigest);
  const asked = await askPeopleInside(
    transaction,
    { ...facts, supersedes: outdated.at(-1)?.request.id ?? null },
    { actor: { type: 'agent', id: facts.agent, name: facts.agent }, ...ports },
  );
  if (asked === null) return null;
  const { request } = asked;
  if (call !== null) await closeOutdated(transaction, outdated, { call, successor: request.id });
  if (asked.undeliverable !== null) {
    const message = `Nobody could be asked: ${asked.undeliverable}. It was not executed.`;
    return {
      answer: { kind: 'denied', code: 'undeliverable', message, confirmationId: request.id },
      created: request.id,
    };
  }
  signal.throwIfAborted();
  return { answer: { kind: 'pending', confirmationId: request.id }, created: request.id };
}

/**
 * What an operator switched off runs neither with a confirmation nor without. A frozen call that needs one may still
 * be asked about, marked as frozen: the freeze may end before the approval does.
 */
function stopped(context: HookContext, controls: GateControls): StoppedCall | null {
  const { writes, connector } = context.metadata;
  const code = stoppedBy({ tool: context.toolName, writes, connector }, controls);
  return code === null ? null : { kind: 'denied', code, message: STOPPED[code], confirmationId: null };
}

type StoppedCall = Extract<GateAnswer, { kind: 'denied' }> & { readonly code: 'frozen' | 'read_only' };

const STOPPED = {
  frozen:
    'Execution of this tool is frozen for now, so the call did not run. A person can end the freeze; do not try to reach the same effect in another way.',
  read_only:
    'Writing is switched off for now, so the call did not run. A person can switch it on again; do not try to write another way.',
} as const;

function newConfirmation(
  context: HookContext,
  policy: DecidingPolicy,
  ports: GatePorts,
): Omit<NewConfirmation, 'explanation'> {
  const { ask } = context.metadata;
  const { invocationId } = context.metadata;
  // A worker that lost its run without noticing, and the one that has it now, ask one question.
  const ofRun = context.runId !== null && invocationId !== null;
  const id = ofRun ? confirmationIdOf(invocationId) : newConfirmationId();
  const call = callOf(context, ports);
  const argsDigest = digestOf(call);
  const requester = requesterOf(context, ports.people);
  const agentOwner = ports.ownerOf(context.agentId);
  const frozen = freezePolicy(policy, ports);
  const approvers = policy.approvers.map((approver) => freezeApprover(approver, ports.people));
  return {
    ...call,
    id,
    argsDigest,
    verificationCode: verificationCodeOf({ id, argsDigest, key: ports.verificationKey }),
    decisiveFields: decisiveFieldsOf(context, ports.toolFacts, ports.mask),
    toolTimeoutMs: ports.toolFacts.timeoutMsOf(context.toolName),
    toolWrites: context.metadata.writes,
    toolIdempotent: ports.toolFacts.isIdempotent(context.toolName),
    connector: context.metadata.connector,
    summary: ask?.summary ?? null,
    metadata: ask?.metadata ?? {},
    agent: context.agentId,
    session: context.sessionId,
    callId: context.metadata.callId,
    requester,
    requesterNamedByAgent: ask?.requesterNamedByAgent ?? context.metadata.requesterNamedByAgent ?? false,
    agentOwner,
    runId: context.runId,
    parentRunId: context.metadata.parentRunId,
    invocationId,
    supersedes: null,
    apiKeyId: ask?.apiKeyId ?? null,
    idempotencyKey: ask?.idempotencyKey ?? null,
    bodyDigest: ask?.bodyDigest ?? null,
    policy: frozen,
    approvers,
    places: firstPlaces({ policy: frozen, approvers, requester, agentOwner }, ports.reach),
  };
}

/** What the digest binds. */
const callOf = (context: HookContext, { organization }: Pick<GatePorts, 'organization'>) => ({
  organization,
  tool: context.toolName,
  toolVersion: context.metadata.toolVersion,
  args: context.toolArgs,
});

/** The same Idempotency-Key, or another worker of the same run, came at the same moment, and the other one was first. */
async function repeated(
  context: HookContext,
  { id, argsDigest }: Pick<NewConfirmation, 'id' | 'argsDigest'>,
  ports: GatePorts,
): Promise<GateAnswer> {
  if (context.runId !== null) {
    const asked = await ports.ledger.find(id);
    if (asked?.argsDigest === argsDigest) return { kind: 'pending', confirmationId: id };
    throw new Error(`Other arguments were asked about for invocation ${context.metadata.invocationId}`);
  }
  const { apiKeyId = null, idempotencyKey = null, bodyDigest = null } = context.metadata.ask ?? {};
  const existing =
    apiKeyId === null || idempotencyKey === null
      ? null
      : await ports.ledger.findByIdempotencyKey(apiKeyId, idempotencyKey);
  if (!existing) throw new Error(`The call of ${context.toolName} could not be stored`);
  if (existing.bodyDigest !== bodyDigest) {
    throw new CountersignError('idempotency_conflict', 'This Idempotency-Key was used with another body.');
  }
  return { kind: 'pending', confirmationId: existing.id };
}

function requesterOf(context: HookContext, people: PersonDirectory): PersonRef {
  if (context.userId === null) {
    throw new CountersignError(
      'unknown_requester',
      'Nobody is named for whom this call is made; name a requester.',
    );
  }
  return personRef(context.userId, people);
}

function personRef(id: PersonId, people: PersonDirectory): PersonRef {
  const person = people.byId(id);
  if (!person)
    throw new CountersignError('unknown_requester', `There is no person ${id} in the configuration.`);
  return { id: person.id, name: person.name };
}

/**
 * What the tool's configuration names. Where it names nothing, the usual three, if the call is plainly a payment: has
 * an amount and a payee. Of any other call nobody can say what decides, so every argument does: a command or an
 * address must not be cut from a card that still approves. Secrets are the exception: they are never shown, so nobody
 * could decide by them.
 */
function decisiveFieldsOf(
  { toolName, toolArgs }: HookContext,
  toolFacts: ToolFacts,
  mask: ArgumentMask = MASK_BY_SHAPE,
): readonly DecisiveField[] {
  const configured = toolFacts.decisiveFieldsOf(toolName);
  if (configured.length > 0) return configured;
  const usual = USUALLY_DECISIVE.filter(({ pointer }) =>
    ['string', 'number'].includes(typeof valueAt(toolArgs, pointer)),
  );
  if (['amount', 'payee'].every((role) => usual.some((field) => field.role === role))) return usual;
  const others = Object.keys(toolArgs)
    .map((key): DecisiveField => ({ role: 'other', pointer: pointerOf(key) }))
    .filter(({ pointer }) => !usual.some((field) => field.pointer === pointer) && !mask.hides(pointer));
  // Too many for lines of their own: the whole of them in one.
  return others.length > MOST_DECISIVE ? [{ role: 'other', pointer: '' }] : [...usual, ...others];
}

const MOST_DECISIVE = 25;
const USUALLY_DECISIVE: readonly DecisiveField[] = [
  { role: 'amount', pointer: '/amount' },
  { role: 'currency', pointer: '/currency' },
  { role: 'payee', pointer: '/payee' },
];

/** The message names the argument at fault, where that is known. */
const policyError = ({ message }: { readonly message: string }): string =>
  `No rule could be chosen for this call, so it was not executed: ${message}`;
