import { z } from 'zod';
import { SETTLE_ACTIONS, type TapAction } from '../../src/channel/inbound-event.ts';
import { LOCALES } from '../../src/locale.ts';
import { SLACK_ID } from './config.ts';
import { LIMITS } from './limits.ts';

/** What we write into Slack's payloads in order to read it back: names, button values, a modal's context. */
export const ACTION_ID = {
  approve: 'countersign.approve',
  reject: 'countersign.reject',
  revoke: 'countersign.revoke',
  succeeded: 'countersign.succeeded',
  failed: 'countersign.failed',
  run_again: 'countersign.run_again',
  /** The link buttons; Slack reports them like any other, and nothing follows from it. */
  open: 'countersign.open',
  open_followed: 'countersign.open_followed',
} as const;

export const REASON_MODAL = {
  callbackId: 'countersign.reason',
  blockId: 'countersign.reason',
  actionId: 'reason',
} as const;

/** Message metadata by which a card is found again before a resend. */
export const CARD_EVENT_TYPE = 'countersign_card';

const ACTIONS: readonly TapAction[] = ['approve', 'reject', 'revoke', ...SETTLE_ACTIONS];

/** Null for a link button, and for whatever is not ours. */
export const actionOf = (actionId: string): TapAction | null =>
  ACTIONS.find((action) => ACTION_ID[action] === actionId) ?? null;

/** A button's `value`: which request, the delivery's opaque token, the card's version. None proves anything by itself. */
export const buttonValue = (confirmation: string, token: string, version: number): string =>
  `${confirmation}.${token}.v${version}`;

const BUTTON_VALUE = /^([0-9a-f-]{36})\.([\x21-\x7e]{1,200}?)(?:\.v(\d{1,9}))?$/;

/** All null where it is not ours: the core then finds no delivery, changes nothing and tells the person. */
export function parseButtonValue(value: string | undefined): {
  readonly confirmation: string | null;
  readonly token: string | null;
  readonly cardVersion: number | null;
} {
  const [, confirmation = null, token = null, version] = BUTTON_VALUE.exec(value ?? '') ?? [];
  return { confirmation, token, cardVersion: version === undefined ? null : Number(version) };
}

const modalContext = z.strictObject({
  request: z.string().max(64),
  token: z.string().max(200),
  /** Of the card that was tapped; absent in modals that were opened by an older version of this service. */
  version: z.int().min(0).nullish(),
  /** What the button meant; from before there was more to say than a verdict. */
  verdict: z.literal(['approve', 'reject', ...SETTLE_ACTIONS]),
  /** For whom the modal was opened; nobody else may submit it. */
  person: z.string().regex(SLACK_ID.user),
  chat: z.string().regex(SLACK_ID.channel),
  message: z.string().regex(SLACK_ID.timestamp),
  /** In which language the person was asked; absent in modals that were opened by an older version of this service. */
  locale: z.enum(LOCALES).nullish(),
});
/** What a modal remembers of the tap that opened it. Slack keeps it out of the person's sight and hands it back. */
export type ModalContext = z.infer<typeof modalContext>;

export const writeModalContext = (context: ModalContext): string => JSON.stringify(context);

export function readModalContext(text: string): ModalContext | null {
  if (text.length > LIMITS.privateMetadata) return null;
  try {
    return modalContext.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
