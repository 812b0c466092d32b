import type { AddressInfo } from 'node:net';
import { type Clock, systemClock } from '../../clock.ts';
import type { JsonObject } from '../../json.ts';
import { FaultQueue } from './faults.ts';
import { createInteractions, type Interactions } from './interactions.ts';
import {
  type SlackEphemeral,
  type SlackMessage,
  type SlackModal,
  SlackPlatform,
  type SlackUser,
} from './platform.ts';
import { type SlackSockets, SocketModeServer } from './socket-mode.ts';
import { createWebApiServer } from './web-api-server.ts';

export interface SlackStandinOptions {
  readonly botToken: string;
  readonly signingSecret: string;
  readonly appId: string;
  readonly team: string;
  readonly channel: string;
  /** What the bot token was granted. Default: everything this project uses. */
  readonly scopes?: readonly string[];
  /** The members of the channel. Anybody else may tap too, but cannot be told anything. */
  readonly users: readonly SlackUser[];
  /** The app's interactivity URL. */
  readonly callbackUrl: string | (() => string);
  /** Switches Socket Mode on: callbacks go over the app's connections, and none to `callbackUrl`. */
  readonly appToken?: string;
  readonly port?: number;
  readonly clock?: Clock;
}

/** A Slack workspace with one channel, on loopback: for the demo and the tests. */
export interface SlackStandin extends Interactions {
  /** What to configure as `apiUrl`. */
  readonly url: string;
  /** Those in the channel. */
  messages(): readonly SlackMessage[];
  directMessagesOf(user: string): readonly SlackMessage[];
  ephemeralsOf(user: string): readonly SlackEphemeral[];
  modalOf(user: string): SlackModal | null;
  /** A message that another app posted into the channel, perhaps with metadata that it copied. */
  postAsAnotherApp(message: { readonly text: string; readonly metadata?: JsonObject }): SlackMessage;
  readonly faults: Pick<FaultQueue, 'next' | 'follow'>;
  /** The app's connections; none without an `appToken`. */
  readonly sockets: SlackSockets | null;
  /** Called after every change of messages, ephemerals and modals; the returned function ends it. */
  onChange(listener: () => void): () => void;
  stop(): Promise<void>;
}

/**
 * Checks the bot's token and Slack's limits, signs callbacks as Slack does, gives the app 3 seconds for an answer and
 * a trigger id 3 seconds of life. Listens on 127.0.0.1 only; `port` 0 or none takes a free one.
 */
export async function startSlackStandin(options: SlackStandinOptions): Promise<SlackStandin> {
  const { botToken, signingSecret, appId, team, channel, users, callbackUrl } = options;
  const clock = options.clock ?? systemClock;
  const platform = new SlackPlatform(clock);
  const workspace = { team, channel, appId, users, platform };
  const faults = new FaultQueue();
  const sockets =
    options.appToken === undefined
      ? null
      : new SocketModeServer({ appToken: options.appToken, appId, clock });
  const server = createWebApiServer({ workspace, botToken, scopes: options.scopes, faults, sockets });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  sockets?.attach(server, port);
  return {
    ...createInteractions({
      workspace,
      signingSecret,
      callbackUrl: typeof callbackUrl === 'string' ? () => callbackUrl : callbackUrl,
      sockets,
      clock,
    }),
    url: `http://127.0.0.1:${port}/api/`,
    messages: () => platform.messages.filter((message) => message.channel === channel),
    directMessagesOf: (user) =>
      platform.messages.filter((message) => message.channel === platform.openDirect(user)),
    ephemeralsOf: (user) => platform.ephemerals.filter((ephemeral) => ephemeral.user === user),
    modalOf: (user) => platform.modals.get(user) ?? null,
    postAsAnotherApp: ({ text, metadata }) =>
      platform.post({ text, channel, blocks: [], metadata: metadata ?? null, ours: false }),
    faults,
    sockets,
    onChange: (listener) => platform.onChange(listener),
    stop: () =>
      new Promise((resolve, reject) => {
        sockets?.stop();
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}
