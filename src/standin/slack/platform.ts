import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import type { ModalView } from './check-blocks.ts';

export interface SlackUser {
  readonly id: string;
  readonly name: string;
  /** The language of this person's client, as `en-US`; told where it is asked for. */
  readonly locale?: string;
  /** Told to an app that may read addresses. */
  readonly email?: string;
  /** On an Enterprise Grid: the organization, the person's id in it, and the workspaces they belong to. */
  readonly grid?: {
    readonly organization: string;
    readonly user: string;
    readonly teams: readonly string[];
  };
}

export interface MessageVersion {
  readonly text: string;
  readonly blocks: readonly JsonObject[];
}

/** A message in the channel or in a direct message, as everybody there sees it now. */
export interface SlackMessage extends MessageVersion {
  readonly ts: string;
  /** `C…` or `D…`. */
  readonly channel: string;
  /** False for a message that another app posted. */
  readonly ours: boolean;
  /** The message whose thread it is in; null for a message of its own. */
  readonly threadTs: string | null;
  /** Of a reply in a thread: whether the channel shows it as well. */
  readonly broadcast: boolean;
  readonly metadata: JsonObject | null;
  readonly edited: boolean;
  /** What it showed before, oldest first: a client that was not refreshed still shows one of these. */
  readonly earlier: readonly MessageVersion[];
}

/** Shown to one person only. */
export interface SlackEphemeral extends MessageVersion {
  readonly ts: string;
  /** `C…` or `D…`: where it stands. */
  readonly channel: string;
  readonly user: string;
}

export interface SlackModal {
  readonly id: string;
  readonly user: string;
  readonly view: ModalView;
  /** What the modal says is wrong, by block id. */
  readonly errors: Readonly<Record<string, string>>;
}

const TRIGGER_LIFE_MS = 3000;

/** What one Slack workspace with one channel remembers. */
export class SlackPlatform {
  readonly messages: SlackMessage[] = [];
  readonly ephemerals: SlackEphemeral[] = [];
  readonly modals = new Map<string, SlackModal>();
  readonly #clock: Clock;
  readonly #triggers = new Map<string, { user: string; expiresAt: number; used: boolean }>();
  readonly #directs = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #lastMicroseconds = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Seconds and microseconds; unique and growing, as Slack's are within a channel. */
  nextTs(): string {
    this.#lastMicroseconds = Math.max(this.#lastMicroseconds + 1, Math.floor(this.#clock.now()) * 1000);
    const seconds = Math.floor(this.#lastMicroseconds / 1_000_000);
    return `${seconds}.${String(this.#lastMicroseconds % 1_000_000).padStart(6, '0')}`;
  }

  post(
    message: MessageVersion & {
      readonly channel: string;
      readonly metadata: JsonObject | null;
      readonly ours: boolean;
      readonly threadTs?: string | null;
      readonly broadcast?: boolean;
    },
  ): SlackMessage {
    const posted: SlackMessage = {
      threadTs: null,
      broadcast: false,
      ...message,
      ts: this.nextTs(),
      edited: false,
      earlier: [],
    };
    this.messages.push(posted);
    this.changed();
    return posted;
  }

  edit(ts: string, to: MessageVersion & { readonly metadata: JsonObject | null }): void {
    const at = this.messages.findIndex((message) => message.ts === ts);
    const before = this.messages[at];
    if (before === undefined) return;
    const earlier = [...before.earlier, { text: before.text, blocks: before.blocks }];
    this.messages[at] = {
      ...before,
      ...to,
      metadata: to.metadata ?? before.metadata,
      edited: true,
      earlier,
    };
    this.changed();
  }

  /** The direct message between the app and one person; the same one however often it is opened. */
  openDirect(user: string): string {
    const chat = `D${user.slice(1)}`;
    this.#directs.add(chat);
    return chat;
  }

  isDirect(chat: unknown): boolean {
    return typeof chat === 'string' && this.#directs.has(chat);
  }

  whisper(ephemeral: MessageVersion & { readonly user: string; readonly channel: string }): SlackEphemeral {
    const shown = { ...ephemeral, ts: this.nextTs() };
    this.ephemerals.push(shown);
    this.changed();
    return shown;
  }

  newTrigger(user: string): string {
    const id = `${this.#lastMicroseconds}.${randomBytes(5).readUIntBE(0, 5)}.${randomBytes(16).toString('hex')}`;
    this.#triggers.set(id, { user, expiresAt: this.#clock.monotonic() + TRIGGER_LIFE_MS, used: false });
    return id;
  }

  /** The person for whom a modal may be opened, or Slack's error. A trigger opens one modal, within 3 seconds. */
  useTrigger(id: string): { readonly user: string } | { readonly error: string } {
    const trigger = this.#triggers.get(id);
    if (trigger === undefined) return { error: 'invalid_trigger_id' };
    if (trigger.used) return { error: 'exchanged_trigger_id' };
    if (this.#clock.monotonic() > trigger.expiresAt) return { error: 'expired_trigger_id' };
    trigger.used = true;
    return { user: trigger.user };
  }

  showModal(user: string, view: ModalView): SlackModal {
    const modal = { id: `V${randomBytes(5).toString('hex').toUpperCase()}`, user, view, errors: {} };
    this.changeModal(user, modal);
    return modal;
  }

  changeModal(user: string, modal: SlackModal | null): void {
    if (modal === null) this.modals.delete(user);
    else this.modals.set(user, modal);
    this.changed();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
