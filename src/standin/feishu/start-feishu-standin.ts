import { randomUUID } from 'node:crypto';
import { systemClock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { buttonsOf, type StandinButton } from './card-buttons.ts';
import { deliverCallback, interpretEventAnswer, postCallback, type TapResult } from './deliver-callback.ts';
import { FaultQueue } from './fault-queue.ts';
import { type FeishuLongConnections, LongConnectionServer } from './long-connections.ts';
import { MessageStore, type StandinMessage } from './message-store.ts';
import { createOpenApi, directChatOf } from './open-api.ts';
import { type SignedCallback, signCallback, unsignedCallback } from './sign-callback.ts';
import type { FeishuStandinOptions, StandinUser } from './standin-options.ts';
import { tapPayload } from './tap-payload.ts';

export interface FeishuStandin {
  /** What a channel's `domain` is set to. */
  readonly url: string;
  /** Those in the group. */
  messages(): readonly StandinMessage[];
  directMessagesOf(openId: string): readonly StandinMessage[];
  buttons(messageId: string): readonly StandinButton[];
  /** What this person was shown after their taps, oldest first. */
  toastsOf(openId: string): readonly TapResult[];
  /** Presses a button as this person and waits for what their client shows. */
  tap(tap: StandinTap): Promise<TapResult>;
  /** The same callback as wire bytes, for whoever wants to carry or bend them. */
  callbackOf(tap: StandinTap): SignedCallback;
  /** What the callback of a tap says, before it is encrypted and signed. */
  payloadOf(tap: StandinTap): JsonObject;
  /** The app's long connections; none unless `longConnection` is set. */
  readonly longConnections: FeishuLongConnections | null;
  /** Sends the bytes of the latest callback once more. */
  replay(): Promise<{ readonly status: number; readonly body: string } | { readonly code: number }>;
  /** The console's "save" of the callback URL: true where the challenge came back. */
  verifyUrl(): Promise<boolean>;
  /** The console's URL check as wire bytes. */
  urlCheck(challenge: string, verificationToken?: string): SignedCallback;
  readonly faults: Pick<FaultQueue, 'next' | 'follow'>;
  /** Every token issued so far stops working. */
  revokeTokens(): void;
  /** How many tokens were asked for. */
  tokensIssued(): number;
  /** Called after each message, change or toast; the returned function ends it. */
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

export interface StandinTap {
  readonly openId: string;
  readonly messageId: string;
  /** Place of the button among the card's buttons, or the first one that matches. */
  readonly element: number | ((button: StandinButton) => boolean);
  /** What was typed into the form, by input name. */
  readonly formValue?: Readonly<Record<string, string>>;
  /** The person's own tenant, where it is not the app's. */
  readonly tenant?: string;
  /** Of the client that is tapped, where it is not the person's usual one. */
  readonly language?: StandinUser['language'];
}

/**
 * Feishu on loopback, for the demo and the tests: tokens, messages, cards with the platform's rules, callbacks
 * encrypted and signed with its three seconds, and the toast or error that a person's client would show.
 */
export async function startFeishuStandin(options: FeishuStandinOptions): Promise<FeishuStandin> {
  const clock = options.clock ?? systemClock;
  const messages = new MessageStore(clock);
  const faults = new FaultQueue();
  const listeners = new Set<() => void>();
  const toasts = new Map<string, TapResult[]>();
  let latest: SignedCallback | null = null;
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const longConnections = options.longConnection ? new LongConnectionServer(clock) : null;
  const parts = { options, messages, faults, clock, changed, longConnections };
  const { app, revokeTokens, tokensIssued } = createOpenApi(parts);
  longConnections?.attach(app.server);
  const url = await app.listen({ host: '127.0.0.1', port: options.port ?? 0 });

  const callbackUrl = () =>
    typeof options.callbackUrl === 'string' ? options.callbackUrl : options.callbackUrl();

  const messageOf = (messageId: string) => {
    const message = messages.get(messageId);
    if (!message) throw new Error(`No message ${messageId}`);
    return message;
  };

  const buttonOf = ({ messageId, element }: StandinTap): StandinButton => {
    const buttons = buttonsOf(messageOf(messageId).card);
    const button = typeof element === 'number' ? buttons[element] : buttons.find(element);
    if (!button || button.disabled) throw new Error(`No such button on message ${messageId}`);
    return button;
  };

  const userOf = (openId: string) => {
    const user = options.users.find((candidate) => candidate.openId === openId);
    if (!user) throw new Error(`No user ${openId}`);
    return user;
  };

  const payloadOf = (tap: StandinTap): JsonObject =>
    tapPayload({
      options,
      message: messageOf(tap.messageId),
      button: buttonOf(tap),
      user: userOf(tap.openId),
      tenant: tap.tenant ?? options.tenant,
      formValue: tap.formValue ?? {},
      nowMs: clock.now(),
    });

  const callbackOf = (tap: StandinTap): SignedCallback =>
    signCallback({
      payload: payloadOf(tap),
      encryptKey: options.encryptKey,
      nowMs: clock.now(),
    });

  const press = async (tap: StandinTap): Promise<TapResult> => {
    const button = buttonOf(tap);
    if (button.url !== null) return { kind: 'opened', url: button.url };
    const missing = button.form?.required.find((input) => !tap.formValue?.[input]?.trim());
    if (missing !== undefined) return { kind: 'required-missing', input: missing };
    const language = tap.language ?? userOf(tap.openId).language;
    if (longConnections) return interpretEventAnswer(await longConnections.deliver(payloadOf(tap)), language);
    const callback = callbackOf(tap);
    latest = callback;
    return deliverCallback({ url: callbackUrl(), callback, language, clock });
  };

  const urlCheck = (challenge: string, token = options.verificationToken) =>
    unsignedCallback({ challenge, token, type: 'url_verification' }, options.encryptKey);

  return {
    url,
    messages: () => messages.all().filter(({ chat }) => chat === options.chat),
    directMessagesOf: (openId) => messages.all().filter(({ chat }) => chat === directChatOf(userOf(openId))),
    buttons: (messageId) => buttonsOf(messageOf(messageId).card),
    toastsOf: (openId) => toasts.get(openId) ?? [],
    async tap(tap) {
      const result = await press(tap);
      toasts.set(tap.openId, [...(toasts.get(tap.openId) ?? []), result]);
      changed();
      return result;
    },
    callbackOf,
    payloadOf,
    longConnections,
    async replay() {
      const target = callbackUrl();
      if (!latest || target === null) throw new Error('There is no callback to replay');
      return postCallback(target, latest, clock);
    },
    async verifyUrl() {
      const target = callbackUrl();
      if (target === null) return false;
      const challenge = randomUUID();
      const answer = await postCallback(target, urlCheck(challenge), clock);
      return 'status' in answer && answer.status === 200 && challengeIn(answer.body) === challenge;
    },
    urlCheck,
    faults,
    revokeTokens,
    tokensIssued,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async stop() {
      listeners.clear();
      longConnections?.stop();
      await app.close();
    },
  };
}

function challengeIn(body: string): unknown {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === 'object' && answer !== null && 'challenge' in answer ? answer.challenge : null;
  } catch {
    return null;
  }
}
