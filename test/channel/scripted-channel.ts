import type { Card, RenderedCard } from '../../src/channel/card.ts';
import type {
  Channel,
  ChannelAddress,
  OutgoingDelivery,
  OutgoingUpdate,
  SendOutcome,
  UpdateOutcome,
} from '../../src/channel/channel.ts';
import type { ChannelPace, Rate } from '../../src/channel/chat-pace.ts';
import type { ChannelId } from '../../src/ids.ts';
import type { Locale } from '../../src/locale.ts';

const FAST: Rate = { perSecond: 1_000, burst: 1_000 };

type Step<Outcome> =
  | Outcome
  /** The platform does its work and its answer is lost: the call never returns. */
  | 'answer-lost'
  /** The call never returns and nothing happens. */
  | 'hang'
  | 'throw'
  /** Waits for the promise, then works as usual. */
  | Promise<void>;

/** One message as people see it in the chat. */
export interface ChatMessage {
  readonly id: string;
  readonly delivery: string;
  payload: string;
}

/**
 * A whole small chat platform behind the channel contract, whose next answers a test can script. It keeps real
 * messages and, like the real ones, finds an earlier message of the same delivery before it sends again.
 */
export class ScriptedChannel implements Channel {
  readonly kind = 'scripted';
  readonly locale: Locale = 'en-US';
  readonly id: ChannelId;
  readonly address: ChannelAddress;
  /** As fast as a test. */
  pace: ChannelPace = { messages: FAST, changes: FAST };
  cardLifetimeMs = 14 * 86_400_000;
  readonly messages: ChatMessage[] = [];
  readonly sends: { readonly delivery: string; readonly attempt: number; readonly token: string }[] = [];
  /** Every call by which a message was to be changed. */
  readonly updates: string[] = [];
  readonly sendSteps: Step<SendOutcome>[] = [];
  readonly updateSteps: Step<UpdateOutcome>[] = [];
  decisiveShown = true;
  renderFails = 0;
  findsEarlier = true;

  constructor(id: ChannelId, address: ChannelAddress) {
    this.id = id;
    this.address = address;
  }

  async start() {}
  async stop() {}
  health = () => ({ ready: true, detail: 'scripted' });
  receive = async () => ({ kind: 'refused', reason: 'not used' }) as const;
  reply = () => ({ answer: { status: 200, contentType: 'text/plain', body: '' } });

  render(card: Card, token: string): RenderedCard {
    if (this.renderFails > 0) {
      this.renderFails -= 1;
      throw new Error('the card could not be drawn');
    }
    const buttons = card.actions.kind === 'decide' ? `buttons ${token}` : 'no buttons';
    return {
      payload: JSON.stringify([card.state, card.version, buttons]),
      decisiveShown: this.decisiveShown,
    };
  }

  async send({ id, attempt, token, rendered, signal }: OutgoingDelivery): Promise<SendOutcome> {
    this.sends.push({ delivery: id, attempt, token });
    const step = this.sendSteps.shift();
    const work = (): SendOutcome => {
      const earlier = this.findsEarlier && this.messages.find(({ delivery }) => delivery === id);
      if (attempt > 1 && earlier) return { kind: 'sent', messageId: earlier.id };
      const message = { id: `m${this.messages.length + 1}-${id}`, delivery: id, payload: rendered.payload };
      this.messages.push(message);
      return { kind: 'sent', messageId: message.id };
    };
    return this.#play(step, work, signal);
  }

  async update({ messageId, rendered, signal }: OutgoingUpdate): Promise<UpdateOutcome> {
    this.updates.push(messageId);
    const work = (): UpdateOutcome => {
      const message = this.messages.find(({ id }) => id === messageId);
      if (!message) return { kind: 'gone', error: 'message_not_found' };
      message.payload = rendered.payload;
      return { kind: 'updated' };
    };
    return this.#play(this.updateSteps.shift(), work, signal);
  }

  async #play<Outcome extends object>(
    step: Step<Outcome> | undefined,
    work: () => Outcome,
    signal: AbortSignal,
  ): Promise<Outcome> {
    if (step === undefined) return work();
    if (step === 'throw') throw new Error('the channel broke');
    if (step === 'hang') return never();
    if (step === 'answer-lost') {
      work();
      return never();
    }
    if (step instanceof Promise) {
      await step;
      return signal.aborted ? never() : work();
    }
    return step as Outcome;
  }
}

const never = <T>(): Promise<T> => new Promise(() => {});
