import { z } from 'zod';
import type { ChannelActor, InboundEvent, TapEvent } from '../../src/channel/inbound-event.ts';
import { parseJson } from '../../src/channel/parse-json.ts';
import type { Locale } from '../../src/locale.ts';
import { SLACK_ID } from './config.ts';
import { actionOf, parseButtonValue, REASON_MODAL, readModalContext } from './wire.ts';

export type ParsedCallback =
  /** Slack checks the URL of event subscriptions: the challenge goes back as it came. */
  { readonly kind: 'challenge'; readonly challenge: string } | { readonly kind: 'ssl-check' } | EventCallback;
export interface EventCallback {
  readonly kind: 'event';
  readonly event: InboundEvent;
}

/** What `reply` needs to know of the callback that it answers. */
export type SlackHandle =
  | { readonly surface: 'message'; readonly triggerId: string | null }
  /** Answered in the language in which the modal asked; null where it does not say. */
  | { readonly surface: 'modal'; readonly locale: Locale | null };

/** Reads a body whose signature was verified. Whatever we do not act on comes back as `unsupported`, never a throw. */
export function parseCallback(body: Buffer): ParsedCallback {
  const text = body.toString('utf8');
  if (text.trimStart().startsWith('{')) {
    const check = urlVerification.safeParse(parseJson(text));
    return check.success ? { kind: 'challenge', challenge: check.data.challenge } : unsupported('JSON body');
  }
  const form = new URLSearchParams(text);
  if (form.get('ssl_check') === '1' && !form.has('payload')) return { kind: 'ssl-check' };
  const [payload, ...more] = form.getAll('payload');
  if (payload === undefined || more.length > 0) return unsupported('form without exactly one payload');
  return parsePayload(parseJson(payload));
}

/** Reads an interactive payload, from a verified form or from an authenticated socket. Never throws. */
export function parsePayload(json: unknown): EventCallback {
  const type = typed.safeParse(json).data?.type;
  if (type === 'block_actions') return parseBlockActions(json);
  if (type === 'view_submission') return parseViewSubmission(json);
  return unsupported(type === undefined ? 'payload without a type' : `payload of type ${type.slice(0, 40)}`);
}

const typed = z.object({ type: z.string() });
const urlVerification = z.object({
  type: z.literal('url_verification'),
  challenge: z.string().min(1).max(1000),
});

const withId = (shape: RegExp) => z.object({ id: z.string().regex(shape) });
const envelope = {
  api_app_id: z.string().regex(SLACK_ID.app).nullish(),
  // An app installed for a whole Enterprise Grid organization gets `team: null` and an `enterprise`.
  team: withId(SLACK_ID.team).nullish(),
  enterprise: withId(SLACK_ID.team).nullish(),
  user: z.object({
    id: z.string().regex(SLACK_ID.user),
    team_id: z.string().regex(SLACK_ID.team).nullish(),
    is_bot: z.boolean().optional(),
    is_workflow_bot: z.boolean().optional(),
  }),
};
type Envelope = z.infer<z.ZodObject<typeof envelope>>;

const blockActions = z.object({
  ...envelope,
  trigger_id: z.string().min(1).max(255).nullish(),
  container: z
    .object({
      type: z.literal('message'),
      message_ts: z.string().regex(SLACK_ID.timestamp),
      channel_id: z.string().regex(SLACK_ID.channel).optional(),
      is_ephemeral: z.literal(false).optional(),
    })
    .optional(),
  channel: withId(SLACK_ID.channel),
  message: z.object({ ts: z.string().regex(SLACK_ID.timestamp) }).optional(),
  actions: z
    .array(
      z.object({ value: z.string().max(2000).optional().catch(undefined), action_ts: z.string().optional() }),
    )
    .min(1),
});

const actionNames = z.object({ actions: z.array(z.object({ action_id: z.string() })).min(1) });

/** Only `actions[0]` counts: Slack sends one action for one tap. */
function parseBlockActions(json: unknown): EventCallback {
  const actionId = actionNames.safeParse(json).data?.actions[0]?.action_id ?? '';
  const action = actionOf(actionId);
  if (action === null) return unsupported(`action ${actionId.slice(0, 60)}`);
  const parsed = blockActions.safeParse(json);
  if (!parsed.success) return unsupported('malformed block_actions');
  const { data } = parsed;
  const messageId = data.message?.ts ?? data.container?.message_ts;
  const tenant = tenantOf(data);
  if (messageId === undefined || tenant === null) return unsupported('block_actions without message or team');
  const contradicts =
    (data.container?.message_ts ?? messageId) !== messageId ||
    (data.container?.channel_id ?? data.channel.id) !== data.channel.id;
  const handle: SlackHandle = { surface: 'message', triggerId: data.trigger_id ?? null };
  return tap({
    actor: actorOf(data, tenant),
    app: data.api_app_id ?? null,
    tenant,
    chat: data.channel.id,
    messageId,
    // One that says two things names no card, so that the person is told and it is on the record.
    ...parseButtonValue(contradicts ? undefined : data.actions[0]?.value),
    action,
    reason: undefined,
    openedFor: null,
    eventId: data.actions[0]?.action_ts ?? null,
    handle,
  });
}

const viewSubmission = z.object({
  ...envelope,
  view: z.object({
    id: z.string().max(64).optional(),
    app_id: z.string().nullish(),
    private_metadata: z.string(),
    state: z.object({
      values: z.record(z.string(), z.record(z.string(), z.object({ value: z.string().max(3000).nullish() }))),
    }),
  }),
});

const viewName = z.object({ view: z.object({ callback_id: z.string() }) });

function parseViewSubmission(json: unknown): EventCallback {
  const callbackId = viewName.safeParse(json).data?.view.callback_id ?? '';
  if (callbackId !== REASON_MODAL.callbackId) return unsupported(`view ${callbackId.slice(0, 60)}`);
  const parsed = viewSubmission.safeParse(json);
  if (!parsed.success) return unsupported('malformed view_submission');
  const { view, ...data } = parsed.data;
  const tenant = tenantOf(data);
  const context = readModalContext(view.private_metadata);
  if (tenant === null || context === null) return unsupported('view_submission without team or context');
  if ((view.app_id ?? data.api_app_id) !== data.api_app_id) return unsupported("another app's view");
  const written = view.state.values[REASON_MODAL.blockId]?.[REASON_MODAL.actionId]?.value ?? '';
  const handle: SlackHandle = { surface: 'modal', locale: context.locale ?? null };
  return tap({
    actor: actorOf(data, tenant),
    app: data.api_app_id ?? null,
    tenant,
    chat: context.chat,
    messageId: context.message,
    confirmation: context.request,
    token: context.token,
    cardVersion: context.version ?? null,
    action: context.verdict,
    reason: written.trim() === '' ? '' : written,
    openedFor: context.person,
    eventId: view.id ?? null,
    handle,
  });
}

const tenantOf = (data: Envelope): string | null => data.team?.id ?? data.enterprise?.id ?? null;

const actorOf = (data: Envelope, tenant: string): ChannelActor => ({
  provider: 'slack',
  tenant: data.user.team_id ?? tenant,
  ids: { user: data.user.id },
  isBot: data.user.is_bot === true || data.user.is_workflow_bot === true || data.user.id === 'USLACKBOT',
});

const tap = (event: Omit<TapEvent, 'type'>): EventCallback => ({
  kind: 'event',
  event: { type: 'tap', ...event },
});

const unsupported = (what: string): EventCallback => ({
  kind: 'event',
  event: { type: 'unsupported', what },
});
