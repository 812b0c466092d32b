import { z } from 'zod';
import { SessionStartHook } from '../src/hook/hook.ts';
import type { SessionStartContext } from '../src/hook/hook-context.ts';
import type { HookKind } from '../src/hook/hook-kind.ts';
import type { HookPorts } from '../src/hook/hook-ports.ts';
import type { SessionStartResult } from '../src/hook/hook-results.ts';

const options = z.strictObject({});

/**
 * Tells the model at the start of a session which day it is, for which organization it works and for whom. Where it
 * fails the session starts without: it informs, and protects nothing.
 */
export const sessionContext: HookKind<z.infer<typeof options>> = {
  name: 'session-context',
  options,
  create: (_options, ports) => new SessionContextHook(ports),
};

type SessionPorts = Pick<HookPorts, 'clock' | 'locale' | 'timeZone' | 'people'>;

class SessionContextHook extends SessionStartHook {
  readonly name = 'session-context';
  readonly onError = 'continue';
  readonly #ports: SessionPorts;

  constructor(ports: SessionPorts) {
    super();
    this.#ports = ports;
  }

  async execute({ userId, metadata }: SessionStartContext): Promise<SessionStartResult> {
    const { locale, people } = this.#ports;
    const texts = TEXTS[locale];
    const name = userId === null ? null : people.nameOf(userId);
    const lines = [texts.date(this.#today()), texts.organization(metadata.organization)];
    if (name !== null) lines.push(texts.person(name));
    return { context: lines.map(oneLine).join('\n') };
  }

  /** The weekday is there because models are bad at finding it. */
  #today(): string {
    const { clock, locale, timeZone } = this.#ports;
    const now = clock.now();
    const part = (format: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat(locale, { timeZone, ...format }).format(now);
    // The Swedish form of a date is the ISO one.
    const date = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(now);
    return `${date} (${part({ weekday: 'long' })}, ${timeZone})`;
  }
}

const TEXTS = {
  'en-US': {
    date: (date: string) => `Today is ${date}.`,
    organization: (name: string) => `You work for the organization "${name}".`,
    person: (name: string) => `You act for ${name}.`,
  },
  'zh-CN': {
    date: (date: string) => `今天是 ${date}。`,
    organization: (name: string) => `你为组织“${name}”工作。`,
    person: (name: string) => `你代表 ${name} 行事。`,
  },
} as const;

/** A name is a name: it may not begin a paragraph of its own in the prompt. */
const oneLine = (text: string): string => text.replace(/\s+/gu, ' ');
