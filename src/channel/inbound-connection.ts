import type { ChannelAnswer, ChannelHealth } from './channel.ts';
import type { InboundEvent } from './inbound-event.ts';

/**
 * The way in of a channel that needs no inbound network: the channel itself connects to its platform (a socket, or
 * polling) and is handed its events there. `Channel.stop` ends it: nothing new is opened, what is under way is
 * committed and answered, then everything is closed.
 */
export interface InboundConnection {
  /**
   * Connects, and stays connected for ever: no answer of the platform and no outage ends it. Called once, after
   * `start`; does not wait for the platform, and does not throw for what the platform says.
   */
  open(handler: InboundHandler): void;
  /** What stands at this moment; cheap, read by `/readyz` and `/metrics`. */
  status(): ConnectionStatus;
  /**
   * Asks the platform whether it would let this app in, and opens nothing: a connection that nobody serves would take
   * taps away from the service that does.
   */
  check(signal: AbortSignal): Promise<ChannelHealth>;
}

/** The core, as a connection sees it. */
export interface InboundHandler {
  /**
   * What the platform shall be answered, once everything the event asks for is committed. Never rejects: a fault is
   * answered as "not recorded". Of the HTTP answer a connection uses the body alone. The channel starts `afterwards`
   * once the answer is on its way.
   */
  handle(event: InboundEvent): Promise<ChannelAnswer>;
  /** Records that something came in without the proof it has to carry. Changes nothing else; never rejects. */
  refuse(reason: string): Promise<void>;
}

export interface ConnectionStatus {
  /** Zero until `open` was called. */
  readonly wanted: number;
  readonly open: number;
  /** How often a connection was opened after the first ones. */
  readonly reconnects: number;
  /** For operators; never a secret. */
  readonly detail: string;
}

/** A channel's health with that of its connections: without any, no tap arrives. */
export function withConnections(health: ChannelHealth, status: ConnectionStatus | undefined): ChannelHealth {
  if (status === undefined || status.wanted === 0) return health;
  return { ready: health.ready && status.open > 0, detail: `${health.detail}; ${status.detail}` };
}
