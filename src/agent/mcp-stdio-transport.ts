import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { deserializeMessage, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../clock.ts';
import type { McpConnectorConfig } from '../config/config.ts';
import { McpMisbehaved, McpNotSent } from './mcp-fault.ts';
import { McpFloodGauge } from './mcp-flood-gauge.ts';

type StdioServer = Extract<McpConnectorConfig['server'], { transport: 'stdio' }>;
type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Longest line: a listing with every schema at its limit, and then some. */
const LONGEST_LINE_BYTES = 20 * 1024 * 1024;
/** What waits to be read by the program: one that asks and never reads the answers would fill our memory. */
const MOST_UNREAD_BYTES = 8 * 1024 * 1024;
/** How long a program may take to go by itself, and then to heed SIGTERM. */
const GRACE_MS = 2_000;
const STDERR_LINES = 20;
const STDERR_LINE_LENGTH = 300;

/**
 * A server as a child process, one JSON message a line. In place of the SDK's own transport, because here it has to be
 * certain whether a message was written, the whole family of the program has to go with the service (`npx` starts
 * another), and neither a flood nor what it writes to its error output may reach further than this connection.
 */
export class McpStdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #server: StdioServer;
  readonly #clock: Clock;
  readonly #onStderr: (line: string) => void;
  readonly #onMisbehaved: (error: McpMisbehaved) => void;
  readonly #flood: McpFloodGauge;
  #child: Child | null = null;
  #gone: Promise<void> = Promise.resolve();
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #closed = false;

  /** `onStderr` gets the first few lines of the program's error output, each cut; the rest is thrown away. */
  constructor(input: {
    readonly server: StdioServer;
    readonly clock: Clock;
    readonly onStderr: (line: string) => void;
    readonly onMisbehaved: (error: McpMisbehaved) => void;
  }) {
    this.#server = input.server;
    this.#clock = input.clock;
    this.#onStderr = input.onStderr;
    this.#onMisbehaved = input.onMisbehaved;
    this.#flood = new McpFloodGauge(input.clock);
  }

  start(): Promise<void> {
    const [program, ...args] = this.#server.command;
    return new Promise((resolve, reject) => {
      const child: Child = spawn(program, args, {
        // Nothing of ours but what every program needs: the environment of this process holds its keys.
        env: { ...getDefaultEnvironment(), ...this.#server.env },
        ...(this.#server.cwd !== null && { cwd: this.#server.cwd }),
        stdio: ['pipe', 'pipe', 'pipe'],
        shell: false,
        // A process group of its own, to be ended as a whole.
        detached: process.platform !== 'win32',
        windowsHide: true,
      });
      this.#child = child;
      this.#gone = new Promise((gone) => {
        child.once('error', (error) => {
          reject(error);
          if (child.pid === undefined) gone();
        });
        child.once('exit', () => gone());
      });
      child.once('spawn', () => resolve());
      child.once('exit', () => this.#end());
      child.stdin.on('error', (error) => this.onerror?.(error));
      child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
      child.stdout.on('error', (error) => this.onerror?.(error));
      this.#readStderr(child.stderr);
    });
  }

  /** Rejects with `McpNotSent` where not one byte went out; from the write on, the server may have the message. */
  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (this.#closed || !stdin?.writable) throw new McpNotSent('the program does not run');
    if (stdin.writableLength > MOST_UNREAD_BYTES) {
      this.#misbehaved('the server does not read what it is sent');
      throw new McpNotSent('the program does not read');
    }
    if (stdin.write(serializeMessage(message))) return;
    await Promise.race([new Promise<void>((resolve) => stdin.once('drain', resolve)), this.#gone]);
  }

  /** Lets the program go by itself, then asks it to, then makes it; returns when it is gone. */
  async close(): Promise<void> {
    this.#end();
    const child = this.#child;
    if (child === null) return;
    child.stdin.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#isGone(signal === 'SIGTERM' ? GRACE_MS / 4 : GRACE_MS)) break;
      signalGroup(child, signal);
    }
    await this.#isGone(GRACE_MS);
    // The program itself is gone; what it started may not be.
    signalGroup(child, 'SIGKILL');
    child.stdout.destroy();
    child.stderr.destroy();
  }

  async #isGone(withinMs: number): Promise<boolean> {
    const over = new AbortController();
    const late = sleep(this.#clock, withinMs, over.signal).then(
      () => false,
      () => false,
    );
    const gone = await Promise.race([this.#gone.then(() => true), late]);
    over.abort();
    return gone;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#pending = [];
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    if (this.#closed) return;
    if (!this.#flood.take({ bytes: chunk.byteLength })) {
      this.#misbehaved('the server floods');
      return;
    }
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      this.#pending.push(chunk.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.#pending).toString('utf8');
      this.#pending = [];
      this.#pendingBytes = 0;
      if (this.#flood.take({ messages: 1 })) this.#receive(line);
      else this.#misbehaved('the server floods');
      if (this.#closed) return;
    }
    if (from === chunk.byteLength) return;
    this.#pending.push(chunk.subarray(from));
    this.#pendingBytes += chunk.byteLength - from;
    if (this.#pendingBytes > LONGEST_LINE_BYTES) this.#misbehaved('the server sent a line without an end');
  }

  #receive(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch {
      // Some programs greet on their standard output.
      return;
    }
    this.onmessage?.(message);
  }

  #misbehaved(what: string): void {
    this.#onMisbehaved(new McpMisbehaved(what));
    void this.close();
  }

  #readStderr(stderr: Readable): void {
    let lines = 0;
    let rest = '';
    stderr.setEncoding('utf8');
    stderr.on('error', () => {});
    stderr.on('data', (chunk: string) => {
      if (lines >= STDERR_LINES) return;
      const parts = `${rest}${chunk}`.split('\n');
      rest = (parts.pop() ?? '').slice(0, STDERR_LINE_LENGTH);
      for (const part of parts) {
        if (part.trim() === '' || lines >= STDERR_LINES) continue;
        lines += 1;
        this.#onStderr(part.slice(0, STDERR_LINE_LENGTH));
      }
    });
  }
}

function signalGroup(child: Child, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
