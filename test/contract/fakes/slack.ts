import { createHmac, randomBytes } from 'node:crypto';
import { type Heard, type Loopback, loopback, type Reply } from './loopback.ts';

export type Node = { readonly [key: string]: unknown };

export interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  readonly text: string;
  readonly blocks: readonly Node[];
  readonly metadata: unknown;
}

export interface SlackPerson {
  readonly user: string;
  readonly team?: string;
}

export interface CallbackAnswer {
  readonly status: number;
  readonly text: string;
}

/** What a tester knows of Slack: methods that answer `ok`, messages by `ts`, and signed interactions. */
export class FakeSlack {
  readonly calls: { readonly method: string; readonly body: Node }[] = [];
  readonly messages = new Map<string, SlackMessage>();
  /** Consulted before each method; an answer here replaces the normal one. */
  disturb: (method: string, body: Node) => Reply | undefined | 'accept-and-hang' = () => undefined;
  readonly signingSecret = 'slack-signing-secret';
  readonly botToken = 'xoxb-contract-bot-token';
  readonly appId = 'A0CONTRACT';
  readonly team = 'T0ACME';
  readonly channel = 'C0FINANCE';
  #loopback: Loopback | undefined;
  #clock = 1_700_000_000;
  callbackUrl = '';

  async start() {
    this.#loopback = await loopback((heard) => this.#answer(heard));
    return this;
  }

  get apiUrl() {
    return `${this.#loopback?.url}/api/`;
  }

  async stop() {
    await this.#loopback?.close();
  }

  called(method: string): Node[] {
    return this.calls.filter((call) => call.method === method).map((call) => call.body);
  }

  #answer(heard: Heard): Reply {
    const method = heard.path.replace('/api/', '');
    const body = parseBody(heard);
    this.calls.push({ method, body });
    if (heard.headers.authorization !== `Bearer ${this.botToken}`)
      return { json: { ok: false, error: 'invalid_auth' } };
    const disturbed = this.disturb(method, body);
    if (disturbed !== undefined && disturbed !== 'accept-and-hang') return disturbed;
    const reply = this.#perform(method, body);
    return disturbed === 'accept-and-hang' ? 'hang' : reply;
  }

  #perform(method: string, body: Node): Reply {
    switch (method) {
      case 'auth.test':
        return {
          json: { ok: true, team_id: this.team, user_id: 'U0BOT', bot_id: 'B0BOT', app_id: this.appId },
        };
      case 'chat.postMessage': {
        if (body.channel !== this.channel) return { json: { ok: false, error: 'channel_not_found' } };
        this.#clock += 1;
        const message = toMessage(this.channel, `${this.#clock}.000100`, body);
        this.messages.set(message.ts, message);
        return { json: { ok: true, channel: this.channel, ts: message.ts, message } };
      }
      case 'chat.update': {
        const ts = String(body.ts);
        if (!this.messages.has(ts)) return { json: { ok: false, error: 'message_not_found' } };
        this.messages.set(ts, toMessage(this.channel, ts, body));
        return { json: { ok: true, channel: this.channel, ts } };
      }
      case 'conversations.history':
        return { json: { ok: true, messages: [...this.messages.values()].reverse(), has_more: false } };
      case 'chat.postEphemeral':
        return { json: { ok: true, message_ts: '1.1' } };
      case 'views.open':
        return { json: { ok: true, view: { id: 'V1', ...(body.view as Node) } } };
      default:
        return { json: { ok: false, error: 'unknown_method' } };
    }
  }

  message(ts: string): SlackMessage {
    const message = this.messages.get(ts);
    if (!message) throw new Error(`No message ${ts}`);
    return message;
  }

  /** The `countersign.<what>` button of a message, if it has one. */
  button(ts: string, what: 'approve' | 'reject'): Node | undefined {
    return nodes(this.message(ts).blocks).find((node) => node.action_id === `countersign.${what}`);
  }

  /** Taps a button as Slack would report it: ids copied out of the posted blocks. */
  tap(ts: string, what: 'approve' | 'reject', who: SlackPerson, changes: Node = {}) {
    const button = this.button(ts, what);
    if (!button) throw new Error(`Message ${ts} has no ${what} button`);
    return this.send(this.tapPayload(ts, button, who, changes));
  }

  tapPayload(ts: string, button: Node, who: SlackPerson, changes: Node = {}) {
    const message = this.message(ts);
    const block = message.blocks.find((candidate) => nodes(candidate).includes(button));
    const team = who.team ?? this.team;
    return {
      type: 'block_actions',
      user: { id: who.user, username: who.user.toLowerCase(), name: who.user.toLowerCase(), team_id: team },
      api_app_id: this.appId,
      token: 'legacy-token',
      container: { type: 'message', message_ts: ts, channel_id: message.channel, is_ephemeral: false },
      trigger_id: `${Date.now()}.${randomBytes(4).toString('hex')}`,
      team: { id: team, domain: 'acme' },
      enterprise: null,
      is_enterprise_install: false,
      channel: { id: message.channel, name: 'finance' },
      message: { type: 'message', bot_id: 'B0BOT', ts, text: message.text, blocks: message.blocks },
      state: { values: {} },
      response_url: 'https://hooks.slack.invalid/actions/1',
      actions: [
        {
          action_id: button.action_id,
          block_id: block?.block_id ?? 'generated',
          text: button.text,
          value: button.value,
          type: 'button',
          action_ts: `${Date.now() / 1000}`,
        },
      ],
      ...changes,
    };
  }

  /** Submits the modal that was opened last, with `reason` in its only input. */
  submit(reason: string, who: SlackPerson, view = this.lastView()) {
    const input = nodes(view.blocks).find((node) => node.type === 'input') ?? {};
    const element = input.element as Node;
    const team = who.team ?? this.team;
    return this.send({
      type: 'view_submission',
      team: { id: team, domain: 'acme' },
      user: { id: who.user, username: who.user.toLowerCase(), name: who.user.toLowerCase(), team_id: team },
      api_app_id: this.appId,
      token: 'legacy-token',
      trigger_id: 'submission.1',
      view: {
        id: 'V1',
        team_id: team,
        ...view,
        hash: '1.x',
        state: {
          values: {
            [String(input.block_id ?? 'generated')]: {
              [String(element.action_id)]: {
                type: 'plain_text_input',
                value: reason === '' ? null : reason,
              },
            },
          },
        },
        root_view_id: 'V1',
        app_id: this.appId,
        bot_id: 'B0BOT',
      },
      response_urls: [],
      is_enterprise_install: false,
      enterprise: null,
    });
  }

  lastView(): Node {
    const body = this.called('views.open').at(-1);
    if (!body) throw new Error('No modal was opened');
    return body.view as Node;
  }

  send(payload: unknown): Promise<CallbackAnswer> {
    return this.sendRaw(`payload=${encodeURIComponent(JSON.stringify(payload))}`);
  }

  async sendRaw(
    body: string,
    options: { readonly secret?: string; readonly at?: number; readonly type?: string } = {},
  ): Promise<CallbackAnswer> {
    const timestamp = String(options.at ?? Math.floor(Date.now() / 1000));
    const signature = createHmac('sha256', options.secret ?? this.signingSecret)
      .update(`v0:${timestamp}:${body}`)
      .digest('hex');
    const response = await fetch(this.callbackUrl, {
      method: 'POST',
      headers: {
        'content-type': options.type ?? 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': `v0=${signature}`,
      },
      body,
    });
    return { status: response.status, text: await response.text() };
  }
}

function toMessage(channel: string, ts: string, body: Node): SlackMessage {
  return {
    channel,
    ts,
    text: String(body.text ?? ''),
    blocks: (body.blocks ?? []) as Node[],
    metadata: body.metadata,
  };
}

/** Bodies come as JSON or as a form whose structured fields are JSON. */
function parseBody(heard: Heard): Node {
  if (heard.headers['content-type']?.startsWith('application/json')) return JSON.parse(heard.body || '{}');
  const fields = [...new URLSearchParams(heard.body), ...heard.query];
  return Object.fromEntries(
    fields.map(([name, value]) => [name, /^[[{]/.test(value) ? JSON.parse(value) : value]),
  );
}

/** Every object inside `value`, in document order. */
export function nodes(value: unknown): Node[] {
  if (Array.isArray(value)) return value.flatMap(nodes);
  if (typeof value !== 'object' || value === null) return [];
  return [value as Node, ...Object.values(value).flatMap(nodes)];
}

/** Every text a person would read, in document order, one entry each. */
export function texts(value: unknown): string[] {
  return nodes(value).flatMap((node) =>
    ['text', 'content'].flatMap((key) => (typeof node[key] === 'string' ? [node[key] as string] : [])),
  );
}
