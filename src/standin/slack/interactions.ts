import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { blockActionsPayload, viewSubmissionPayload } from './callback-payloads.ts';
import { checkView, type ModalView } from './check-blocks.ts';
import type { MessageVersion, SlackModal } from './platform.ts';
import { type CallbackResult, type SignedCallback, sendCallback, signCallback } from './send-callback.ts';
import type { SocketModeServer } from './socket-mode.ts';
import type { Workspace } from './web-api-methods.ts';

/** What people do in the client, and what the platform makes of it. */
export interface Interactions {
  /** Presses a button of a message as it is, or as it was before an edit this person's client has not seen yet. */
  tap(input: {
    readonly user: string;
    readonly ts: string;
    readonly actionId: string;
    /** The actor's team where it is another than the workspace's. */
    readonly team?: string;
    /** The callback names the organization of the Grid, and the actor by their id in it. */
    readonly throughGrid?: boolean;
  }): Promise<CallbackResult>;
  /** Types into the open modal and submits it. Null where the client itself refuses: nothing is sent then. */
  submitModal(input: {
    readonly user: string;
    /** Into the first input. */
    readonly reason: string;
    /** Who submits, where a test forges it; the modal is `user`'s in any case. */
    readonly as?: string;
  }): Promise<CallbackResult | null>;
  closeModal(user: string): void;
  /** Sends any payload the way the app takes them, signed where that is HTTP: for callbacks no client would produce. */
  deliver(payload: unknown): Promise<CallbackResult>;
  /** The last callback again, byte for byte, with its old timestamp; over sockets the same payload in a new envelope. */
  replay(callback?: SignedCallback): Promise<CallbackResult>;
  lastCallback(): SignedCallback | null;
}

export function createInteractions(input: {
  readonly workspace: Workspace;
  readonly signingSecret: string;
  readonly callbackUrl: () => string;
  /** Where the app takes its callbacks over sockets; then nothing is signed. */
  readonly sockets: SocketModeServer | null;
  readonly clock: Clock;
}): Interactions {
  const { workspace, signingSecret, callbackUrl, sockets, clock } = input;
  const { platform } = workspace;
  let last: SignedCallback | null = null;
  let lastPayload: unknown = null;

  const deliver = (payload: unknown): Promise<CallbackResult> => {
    lastPayload = payload;
    if (sockets) return sockets.deliver(payload);
    last = signCallback({ payload, signingSecret, nowMs: clock.now() });
    return sendCallback(callbackUrl(), last);
  };

  return {
    deliver,
    lastCallback: () => last,
    replay(callback = last ?? undefined) {
      if (sockets && lastPayload !== null) return sockets.deliver(lastPayload);
      if (callback === undefined) throw new Error('There was no callback yet.');
      return sendCallback(callbackUrl(), callback);
    },
    tap({ user, ts, actionId, team = workspace.team, throughGrid = false }) {
      const message = platform.messages.find((one) => one.ts === ts);
      if (message === undefined) throw new Error(`There is no message ${ts}.`);
      const shown = [message, ...message.earlier.toReversed()];
      const found = shown.map((version) => findButton(version, actionId)).find((button) => button !== null);
      if (found === undefined) throw new Error(`Message ${ts} never had a button ${actionId}.`);
      return deliver(
        blockActionsPayload({ workspace, actor: { user, team, throughGrid }, message, ...found }),
      );
    },
    async submitModal({ user, reason, as = user }) {
      const modal = platform.modals.get(user);
      if (modal === undefined) throw new Error(`${user} has no modal open.`);
      const typed = typeInto(modal, reason);
      if (typed.kind === 'refused') {
        platform.changeModal(user, { ...modal, errors: typed.errors });
        return null;
      }
      const actor = { user: as, team: workspace.team, throughGrid: false };
      const result = await deliver(viewSubmissionPayload({ workspace, actor, modal, values: typed.values }));
      platform.changeModal(user, afterSubmission(modal, result));
      return result;
    },
    closeModal: (user) => platform.changeModal(user, null),
  };
}

function findButton(version: MessageVersion, actionId: string) {
  for (const [at, block] of version.blocks.entries()) {
    if (block.type !== 'actions') continue;
    const elements = (block.elements ?? []) as JsonObject[];
    const button = elements.find((element) => element.action_id === actionId);
    if (button !== undefined) return { button, blockId: String(block.block_id ?? `block${at}`) };
  }
  return null;
}

/** The client's own checks: a required input is not empty, and not longer than it may be. */
function typeInto(modal: SlackModal, reason: string) {
  const values: Record<string, Record<string, string | null>> = {};
  const errors: Record<string, string> = {};
  for (const [at, block] of modal.view.blocks.entries()) {
    if (block.type !== 'input') continue;
    const blockId = block.block_id ?? `block${at}`;
    const text = Object.keys(values).length === 0 ? reason : '';
    if (text === '' && block.optional !== true) errors[blockId] = 'Please complete this required field.';
    if (text.length > (block.element.max_length ?? 3000)) errors[blockId] = 'This entry is too long.';
    values[blockId] = { [block.element.action_id ?? `action${at}`]: text === '' ? null : text };
  }
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors } as const;
  return { kind: 'typed', values } as const;
}

const responseAction = z.discriminatedUnion('response_action', [
  z.strictObject({ response_action: z.literal('clear') }),
  z.strictObject({
    response_action: z.literal('errors'),
    errors: z.record(z.string(), z.string().min(1)),
  }),
  z.strictObject({ response_action: z.literal('update'), view: z.unknown() }),
]);

const FAILED = { '': 'We had some trouble connecting. Try again?' };

/** What the modal is after the app answered: closed, replaced, or still open and saying what is wrong. */
function afterSubmission(modal: SlackModal, result: CallbackResult): SlackModal | null {
  if (result.status !== 200) return { ...modal, errors: FAILED };
  if (result.body === '') return null;
  if (!result.contentType.startsWith('application/json')) return { ...modal, errors: FAILED };
  const action = responseAction.safeParse(parsed(result.body)).data;
  switch (action?.response_action) {
    case 'clear':
      return null;
    case 'errors': {
      const known = new Set(modal.view.blocks.map((block) => block.block_id));
      const named = Object.keys(action.errors).every((blockId) => known.has(blockId));
      return { ...modal, errors: named ? action.errors : FAILED };
    }
    case 'update':
      if (!checkView(action.view).ok) return { ...modal, errors: FAILED };
      return { ...modal, view: action.view as ModalView, errors: {} };
    default:
      return { ...modal, errors: FAILED };
  }
}

/** `undefined` where the app answered with something that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
