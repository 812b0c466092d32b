import { z } from 'zod';
import {
  type InboundEvent,
  type ReasonedAction,
  SETTLE_ACTIONS,
  type TapEvent,
} from '../../src/channel/inbound-event.ts';
import { REASON_FIELD, SUBMIT_NAME } from './render.ts';

/**
 * Turns a verified payload into our event. Who acted and where comes from the envelope; the button says only which
 * request and action are meant. Whatever is not a tap on one of our buttons is `unsupported`.
 */
export function parseCallback(payload: unknown): InboundEvent {
  const callback = cardAction.safeParse(payload);
  if (!callback.success) return { type: 'unsupported', what: eventTypeOf(payload) };
  const { header, event } = callback.data;
  const pressed = pressedButton(event.action);
  if (!pressed) return { type: 'unsupported', what: 'a button that is not ours' };
  return {
    type: 'tap',
    actor: {
      provider: 'feishu',
      // The operator's own tenant: somebody from outside may sit in the same chat.
      tenant: event.operator.tenant_key,
      ids: {
        openId: event.operator.open_id,
        ...(event.operator.union_id && { unionId: event.operator.union_id }),
        ...(event.operator.user_id && { userId: event.operator.user_id }),
      },
      isBot: false,
    },
    app: header.app_id,
    tenant: header.tenant_key,
    chat: event.context.open_chat_id,
    messageId: event.context.open_message_id,
    ...pressed,
    openedFor: null,
    eventId: header.event_id ?? null,
    handle: null,
  };
}

const id = z.string().min(1).max(256);
const optionalId = z.string().max(256).nullish();

/** `card.action.trigger`, schema 2.0 (open.feishu.cn, "Card callback communication"). */
const cardAction = z.object({
  schema: z.literal('2.0'),
  header: z.object({
    event_type: z.literal('card.action.trigger'),
    event_id: optionalId,
    app_id: id,
    tenant_key: id,
  }),
  event: z.object({
    operator: z.object({ tenant_key: id, open_id: id, union_id: optionalId, user_id: optionalId }),
    action: z.object({
      value: z.unknown().optional(),
      name: z.string().max(256).nullish(),
      form_value: z.record(z.string(), z.unknown()).nullish(),
    }),
    context: z.object({ open_message_id: id, open_chat_id: id }),
  }),
});
type Action = z.infer<typeof cardAction>['event']['action'];

/** What any value of ours says, also one that cannot be read any further. */
const ourAction = z.object({ action: z.enum(['approve', 'reject', 'revoke', ...SETTLE_ACTIONS]) });
const buttonValue = ourAction.extend({
  request: id,
  delivery: optionalId,
  version: z.int().min(0).nullish(),
});

type Pressed = Pick<TapEvent, 'action' | 'confirmation' | 'token' | 'cardVersion' | 'reason'>;

function pressedButton(action: Action): Pressed | null {
  // A submit button carries no value of its own, so the form's token travels in its name.
  const submit = SUBMIT_NAME.exec(action.name ?? '');
  const value = buttonValue.safeParse(action.value);
  const reason = action.form_value ? reasonIn(action.form_value) : undefined;
  if (value.success) {
    const { action: meant, request, delivery, version } = value.data;
    // Two buttons in one: it names no card, so that the person is told and it is on the record.
    if (submit && submit[1] !== meant) return { ...NO_CARD, action: meant, reason };
    const token = delivery ?? submit?.[2] ?? null;
    return { action: meant, confirmation: request, token, cardVersion: version ?? versionIn(submit), reason };
  }
  const misread = ourAction.safeParse(action.value);
  if (misread.success) return { ...NO_CARD, action: misread.data.action, reason };
  if (!submit) return null;
  return {
    action: submit[1] as ReasonedAction,
    confirmation: null,
    token: submit[2] ?? null,
    cardVersion: versionIn(submit),
    // A form was shown, so a reason was asked for even where the platform leaves an empty field out.
    reason: reason ?? '',
  };
}

const NO_CARD = { confirmation: null, token: null, cardVersion: null } as const;

const versionIn = (submit: RegExpExecArray | null): number | null =>
  submit?.[3] === undefined ? null : Number(submit[3]);

function reasonIn(formValue: Readonly<Record<string, unknown>>): string {
  const reason = Object.hasOwn(formValue, REASON_FIELD) ? formValue[REASON_FIELD] : '';
  return typeof reason === 'string' ? reason : '';
}

const anyHeader = z.object({ header: z.object({ event_type: z.string().max(100) }) });

function eventTypeOf(payload: unknown): string {
  const known = anyHeader.safeParse(payload);
  return known.success ? known.data.header.event_type : 'a payload without an event type';
}
