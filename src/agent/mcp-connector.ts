import { setImmediate as nextTick } from 'node:timers/promises';
import { type Clock, sleep } from '../clock.ts';
import type { Config, McpConnectorConfig } from '../config/config.ts';
import { compileGlobs } from '../glob.ts';
import type { AgentLogger } from './invoke-ports.ts';
import { callMcpTool, notConnected } from './mcp-call.ts';
import { McpMisbehaved, McpNotSent, McpRefused } from './mcp-fault.ts';
import { type ListedTool, listMcpTools } from './mcp-listing.ts';
import type { McpListingStore, McpServerKey } from './mcp-listing-store.ts';
import { type McpSession, openMcpSession } from './mcp-session.ts';
import { type McpToolPorts, serverDigest, toMcpTool } from './mcp-tool.ts';
import { tellListing } from './tell-listing.ts';
import type { Tool, ToolExecution, ToolOutcome } from './tool.ts';
import { definitionDigest } from './tool-version.ts';

const LIST_TIMEOUT_MS = 30_000;
/** Not every server says when its tools change, and not every connection says that it is gone. */
const LIST_AGAIN_MS = 60_000;
const BETWEEN_LISTINGS_MS = 1_000;
const SHORTEST_BACK_OFF_MS = 1_000;
const LONGEST_BACK_OFF_MS = 60_000;
/** A connection that held for so long was a good one: after it, back-off begins anew. */
const STEADY_AFTER_MS = 60_000;
/** How long a call that may be sent waits for a connection that is not there. */
const CONNECTED_WITHIN_MS = 5_000;
/** The same before anything of the call is used up: programs that are fetched first (`npx`) take their time. */
export const REACHED_WITHIN_MS = 50_000;

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'listed'; readonly session: McpSession }
  | { readonly kind: 'down'; readonly why: string };

export interface McpConnectorPorts {
  readonly clock: Clock;
  readonly logger: AgentLogger;
  /** For what may be asked of the tools, once there are any: which patterns speak of them. */
  readonly config: Pick<Config, 'policies' | 'agents'>;
  /** What the server listed in an earlier process. */
  readonly listings: McpListingStore;
}

/**
 * One server of tools: connected, listed, listed again when it says so, and connected anew, ever less often, when it
 * breaks. Whatever it does, it hurts these tools alone. While there is no connection they keep their last definitions,
 * also those from before a restart, so that grants stay good; calls wait for it a moment, and fail without being sent.
 */
export class McpConnector {
  readonly id: string;
  readonly #connector: McpConnectorConfig;
  readonly #ports: McpConnectorPorts;
  readonly #toolPorts: McpToolPorts;
  readonly #stop = new AbortController();
  readonly #key: McpServerKey;
  #state: State = { kind: 'connecting' };
  /** Aborts when there is a connection again whose tools are listed. */
  #back = new AbortController();
  /** Aborts when somebody waits for the server: the next attempt is made now. */
  #wanted = new AbortController();
  #tools: ReadonlyMap<string, Tool> = new Map();
  /** What each definition was made into, so that only a changed one is looked at again. */
  #made: ReadonlyMap<string, ReturnType<typeof toMcpTool>> = new Map();
  #refused = 0;
  #isListed = false;
  /** How many calls are under way. */
  #calls = 0;
  #working: Promise<void> = Promise.resolve();
  #tried: () => void = () => {};
  /** Resolves when the first attempt to list the tools is over, whatever became of it. */
  readonly firstAttempt: Promise<void>;

  constructor(connector: McpConnectorConfig, ports: McpConnectorPorts) {
    this.id = connector.id;
    this.#connector = connector;
    this.#ports = ports;
    this.#key = { connector: connector.id, server: serverDigest(connector) };
    const covered = compileGlobs(ports.config.policies.flatMap(({ tools }) => tools));
    this.#toolPorts = {
      connector,
      isCovered: covered,
      send: (tool, listed, call) => this.#send(tool, listed, call),
    };
    this.firstAttempt = new Promise((resolve) => {
      this.#tried = resolve;
    });
  }

  /** The tools as they were listed last. */
  tools(): readonly Tool[] {
    return [...this.#tools.values()];
  }

  find(name: string): Tool | null {
    return this.#tools.get(name) ?? null;
  }

  /** Whether anything is known of its tools; what an earlier process saw counts. */
  get isListed(): boolean {
    return this.#isListed;
  }

  get isConnected(): boolean {
    return this.#state.kind === 'listed';
  }

  /** Resolves when the server is connected and has listed its tools, when that takes too long, or `signal` aborts. */
  async reached(signal: AbortSignal, withinMs = REACHED_WITHIN_MS): Promise<void> {
    if (this.isConnected) return;
    this.#wanted.abort();
    const until = AbortSignal.any([signal, this.#back.signal, this.#stop.signal]);
    await sleep(this.#ports.clock, withinMs, until).catch(() => {});
  }

  /**
   * Begins to connect, in the background: a server that is down keeps nothing else from starting. Resolves once its
   * tools are those that it listed last, if ever it did.
   */
  start(): Promise<void> {
    const recalled = this.#recall();
    this.#working = recalled.then(() => this.#work());
    return recalled;
  }

  /** Ends the connection and the program; returns when it is gone. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the service stops'));
    await this.#working;
  }

  /** One sentence for operators; a connector that is down takes no service out of rotation. */
  health(): { readonly connected: boolean; readonly detail: string } {
    switch (this.#state.kind) {
      case 'connecting':
        return { connected: false, detail: 'connecting' };
      case 'listed': {
        const refused = this.#refused === 0 ? '' : `, ${this.#refused} refused`;
        return { connected: true, detail: `${this.#tools.size} tools${refused}` };
      }
      case 'down':
        return { connected: false, detail: `not connected: ${this.#state.why}` };
    }
  }

  async #work(): Promise<void> {
    const { clock, logger } = this.#ports;
    const stop = this.#stop.signal;
    for (let failures = 0; !stop.aborted; ) {
      const sinceMs = clock.monotonic();
      const why = await this.#live().catch(wordsOf);
      this.#tried();
      if (stop.aborted) return;
      this.#state = { kind: 'down', why };
      failures = clock.monotonic() - sinceMs >= STEADY_AFTER_MS ? 1 : failures + 1;
      const retryInMs = backOffMs(failures);
      logger.warn(
        { connector: this.id, why, retryInMs: Math.round(retryInMs) },
        'an MCP server is not connected',
      );
      this.#wanted = new AbortController();
      await sleep(clock, Math.min(retryInMs, SHORTEST_BACK_OFF_MS), stop).catch(() => {});
      const sooner = AbortSignal.any([stop, this.#wanted.signal]);
      await sleep(clock, Math.max(retryInMs - SHORTEST_BACK_OFF_MS, 0), sooner).catch(() => {});
    }
  }

  /** One connection, from its beginning to its end; resolves or rejects with why it is over. */
  async #live(): Promise<string> {
    const { clock, logger } = this.#ports;
    const stop = this.#stop.signal;
    const session = await openMcpSession({ connector: this.#connector, clock, logger, signal: stop });
    const giveUp = () => void session.close();
    stop.addEventListener('abort', giveUp, { once: true });
    try {
      for (;;) {
        await this.#list(session);
        this.#state = { kind: 'listed', session };
        this.#back.abort();
        this.#tried();
        const listedAtMs = clock.monotonic();
        await session.changed(LIST_AGAIN_MS);
        if (session.over.aborted) return wordsOf(session.over.reason);
        // A server that announces a change with every breath is listened to once a second.
        const restMs = BETWEEN_LISTINGS_MS - (clock.monotonic() - listedAtMs);
        if (restMs > 0) await sleep(clock, restMs, session.over);
      }
    } finally {
      stop.removeEventListener('abort', giveUp);
      this.#state = { kind: 'connecting' };
      this.#back = new AbortController();
      await session.close();
    }
  }

  async #list(session: McpSession): Promise<void> {
    const tooLate = new AbortController();
    const cancelTimer = this.#ports.clock.setTimer(LIST_TIMEOUT_MS, () => tooLate.abort());
    try {
      const listing = await listMcpTools((cursor) =>
        session.request(
          'tools/list',
          cursor === null ? {} : { cursor },
          AbortSignal.any([tooLate.signal, session.over]),
        ),
      );
      await this.#take(listing.tools, [...listing.refused]);
    } catch (error) {
      if (!tooLate.signal.aborted) throw error;
      // Some servers do one thing at a time: a call that takes long must not be broken off for want of a listing.
      if (this.#calls === 0) throw new McpMisbehaved('it did not list its tools in time');
    } finally {
      cancelTimer();
    }
  }

  async #recall(): Promise<void> {
    try {
      const listed = await this.#ports.listings.last(this.#key);
      if (listed !== null) await this.#make(listed, []);
    } catch (error) {
      this.#ports.logger.warn(
        { err: error, connector: this.id },
        'what an MCP server listed last cannot be read; its tools are unknown until it lists them',
      );
    }
  }

  async #take(
    listed: readonly ListedTool[],
    refused: { readonly name: string; readonly why: string }[],
  ): Promise<void> {
    if (!(await this.#make(listed, refused))) return;
    const tools = this.tools();
    tellListing({ connector: this.#connector, listed, refused, tools }, this.#ports);
    try {
      await this.#ports.listings.keep(this.#key, listed);
    } catch (error) {
      this.#ports.logger.warn(
        { err: error, connector: this.id },
        'what an MCP server lists cannot be kept; after a restart its tools are those of before',
      );
    }
  }

  /** Makes tools of what is listed; false where that changes nothing. What is refused is added to `refused`. */
  async #make(
    listed: readonly ListedTool[],
    refused: { readonly name: string; readonly why: string }[],
  ): Promise<boolean> {
    const made = new Map<string, ReturnType<typeof toMcpTool>>();
    const tools = new Map<string, Tool>();
    for (const definition of listed) {
      const key = definitionDigest({ ...definition, hints: { ...definition.hints } });
      let tool = this.#made.get(key);
      if (tool === undefined) {
        tool = toMcpTool(definition, this.#toolPorts);
        // Compiling blocks; between two tools the process does its other work.
        await nextTick();
      }
      made.set(key, tool);
      if ('why' in tool) refused.push({ name: definition.name, why: tool.why });
      else tools.set(tool.name, tool);
    }
    const changed =
      [...made.keys()].join() !== [...this.#made.keys()].join() || this.#refused !== refused.length;
    this.#made = made;
    this.#tools = tools;
    this.#isListed = true;
    this.#refused = refused.length;
    return changed;
  }

  async #send(
    tool: Pick<Tool, 'name' | 'version'>,
    listed: ListedTool,
    call: ToolExecution,
  ): Promise<ToolOutcome> {
    // What was asked for and checked was another tool than the one of this name that there is now.
    const session = await this.#connected(call.signal);
    if (this.#tools.get(tool.name)?.version !== tool.version) return notConnected('it has changed meanwhile');
    if (session === null) return notConnected('its server is not connected');
    this.#calls += 1;
    try {
      return await callMcpTool(session, listed.name, call);
    } finally {
      this.#calls -= 1;
    }
  }

  /** The connection, waited for where it comes back soon. Whatever it lists then, it has listed already. */
  async #connected(signal: AbortSignal): Promise<McpSession | null> {
    if (!this.isConnected) await this.reached(signal, CONNECTED_WITHIN_MS);
    return this.#state.kind === 'listed' && !signal.aborted ? this.#state.session : null;
  }
}

/** Why a connection is over: a word of ours, never what the other side wrote. */
function wordsOf(error: unknown): string {
  if (error instanceof McpMisbehaved || error instanceof McpNotSent || error instanceof McpRefused) {
    return error.message;
  }
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return `the connection failed (${code})`;
  return 'the connection broke or was refused';
}

const backOffMs = (failures: number): number =>
  Math.min(SHORTEST_BACK_OFF_MS * 2 ** (failures - 1), LONGEST_BACK_OFF_MS) * (0.75 + Math.random() / 2);
