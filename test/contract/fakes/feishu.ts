import { createCipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import { type Heard, type Loopback, loopback, type Reply } from './loopback.ts';
import { type CallbackAnswer, type Node, nodes } from './slack.ts';

export interface FeishuMessage {
  readonly id: string;
  readonly chat: string;
  readonly uuid: string;
  card: Node;
}

/** What a tester knows of Feishu: the token, messages with a `uuid`, PATCH, and encrypted signed callbacks. */
export class FakeFeishu {
  readonly calls: { readonly call: string; readonly body: Node }[] = [];
  readonly messages = new Map<string, FeishuMessage>();
  disturb: (call: string, body: Node) => Reply | undefined | 'accept-and-hang' = () => undefined;
  readonly appId = 'cli_a1b2c3d4e5f60718';
  readonly appSecret = 'feishu-app-secret';
  readonly encryptKey = 'feishu-encrypt-key';
  readonly verificationToken = 'feishu-verification-token';
  readonly tenant = '2f0acme';
  readonly chat = 'oc_finance';
  callbackUrl = '';
  #loopback: Loopback | undefined;

  async start() {
    this.#loopback = await loopback((heard) => this.#answer(heard));
    return this;
  }

  get domain() {
    return this.#loopback?.url ?? '';
  }

  async stop() {
    await this.#loopback?.close();
  }

  called(prefix: string): Node[] {
    return this.calls.filter((call) => call.call.startsWith(prefix)).map((call) => call.body);
  }

  #answer(heard: Heard): Reply {
    const call = `${heard.method} ${heard.path}`;
    const body = JSON.parse(heard.body || '{}') as Node;
    this.calls.push({ call, body });
    if (heard.path === '/open-apis/auth/v3/tenant_access_token/internal')
      return body.app_id === this.appId && body.app_secret === this.appSecret
        ? { json: { code: 0, msg: 'ok', tenant_access_token: 't-token', expire: 7200 } }
        : { json: { code: 10014, msg: 'app secret invalid' } };
    if (heard.headers.authorization !== 'Bearer t-token')
      return { status: 400, json: { code: 99991663, msg: 'Invalid access token' } };
    const disturbed = this.disturb(call, body);
    if (disturbed !== undefined && disturbed !== 'accept-and-hang') return disturbed;
    const reply = this.#perform(heard, body);
    return disturbed === 'accept-and-hang' ? 'hang' : reply;
  }

  #perform(heard: Heard, body: Node): Reply {
    if (heard.method === 'POST' && heard.path === '/open-apis/im/v1/messages') {
      if (heard.query.get('receive_id_type') !== 'chat_id' || body.receive_id !== this.chat)
        return { status: 400, json: { code: 230001, msg: 'invalid receive_id' } };
      const uuid = String(body.uuid ?? '');
      const known = [...this.messages.values()].find((message) => uuid !== '' && message.uuid === uuid);
      const message = known ?? {
        id: `om_${randomBytes(8).toString('hex')}`,
        chat: this.chat,
        uuid,
        card: JSON.parse(String(body.content)) as Node,
      };
      this.messages.set(message.id, message);
      return { json: { code: 0, msg: 'success', data: { message_id: message.id, chat_id: this.chat } } };
    }
    if (heard.method === 'PATCH' && heard.path.startsWith('/open-apis/im/v1/messages/')) {
      const message = this.messages.get(heard.path.split('/').at(-1) ?? '');
      if (!message) return { status: 400, json: { code: 230001, msg: 'no such message' } };
      message.card = JSON.parse(String(body.content)) as Node;
      return { json: { code: 0, msg: 'success', data: {} } };
    }
    return { status: 404, json: { code: 404, msg: 'unknown call' } };
  }

  message(id: string): FeishuMessage {
    const message = this.messages.get(id);
    if (!message) throw new Error(`No message ${id}`);
    return message;
  }

  /** The action of tapping approve or reject: a callback button's value, or a form's submit button and its fields. */
  action(id: string, what: 'approve' | 'reject', reason?: string): Node | undefined {
    for (const node of nodes(this.message(id).card)) {
      if (node.tag !== 'button') continue;
      for (const behavior of (node.behaviors ?? []) as Node[]) {
        const value = behavior.value as Node | undefined;
        if (behavior.type === 'callback' && value?.action === what) return { tag: 'button', value };
      }
      const name = String(node.name ?? '');
      if (node.form_action_type === 'submit' && (name === what || name.startsWith(`${what}.`)))
        return { tag: 'button', name, form_value: { reason: reason ?? '' } };
    }
    return undefined;
  }

  tap(id: string, what: 'approve' | 'reject', openId: string, reason?: string, changes: Node = {}) {
    const action = this.action(id, what, reason);
    if (!action) throw new Error(`Card ${id} has no way to ${what}`);
    return this.send(this.callback(id, action, openId, changes));
  }

  callback(id: string, action: Node, openId: string, changes: Node = {}) {
    return {
      schema: '2.0',
      header: {
        event_id: randomUUID(),
        token: this.verificationToken,
        create_time: `${Date.now()}000`,
        event_type: 'card.action.trigger',
        tenant_key: this.tenant,
        app_id: this.appId,
      },
      event: {
        operator: { tenant_key: this.tenant, open_id: openId, union_id: `on_${openId}` },
        token: `c-${randomBytes(6).toString('hex')}`,
        action: { timezone: 'Asia/Shanghai', ...action },
        host: 'im_message',
        context: { open_message_id: id, open_chat_id: this.chat },
        ...changes,
      },
    };
  }

  send(event: unknown): Promise<CallbackAnswer> {
    return this.sendRaw(JSON.stringify({ encrypt: this.encrypt(JSON.stringify(event)) }));
  }

  async sendRaw(
    body: string,
    options: { readonly key?: string; readonly at?: number; readonly unsigned?: boolean } = {},
  ): Promise<CallbackAnswer> {
    const timestamp = String(options.at ?? Math.floor(Date.now() / 1000));
    const nonce = randomBytes(8).toString('hex');
    const signature = createHash('sha256')
      .update(timestamp + nonce + (options.key ?? this.encryptKey) + body)
      .digest('hex');
    const proof = {
      'x-lark-request-timestamp': timestamp,
      'x-lark-request-nonce': nonce,
      'x-lark-signature': signature,
    };
    const response = await fetch(this.callbackUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...(options.unsigned ? {} : proof) },
      body,
    });
    return { status: response.status, text: await response.text() };
  }

  encrypt(plain: string): string {
    const iv = randomBytes(16);
    const cipher = createCipheriv('aes-256-cbc', createHash('sha256').update(this.encryptKey).digest(), iv);
    return Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final()]).toString('base64');
  }
}
