import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { programArguments } from '../support/built-programs.ts';
import { until } from '../support/until.ts';
import type { Asked, AuditEvent, Confirmation, Delivery, Page, Run } from './shapes.ts';

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
  readonly text: string;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string;
  readonly headers?: Record<string, string>;
}

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

/** Runs `countersign` as a user does and collects what it prints until it ends. */
export async function runCommand(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const child = await launch(args, env);
  const output = collect(child);
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { code, output: output() };
}

/** The service under test, in a process of its own, seen only from outside. */
export class Gate {
  readonly folder: string;
  readonly configFile: string;
  #child: ChildProcess | undefined;
  #output: () => string = () => '';
  url = '';

  private constructor(folder: string, configFile = join(folder, 'countersign.yaml')) {
    this.folder = folder;
    this.configFile = configFile;
  }

  /** Starts from a file that is already there. */
  static async open(configFile: string, env: Record<string, string>): Promise<Gate> {
    const gate = new Gate(dirname(configFile), configFile);
    await gate.launch(env);
    return gate;
  }

  /** Writes the configuration (JSON is YAML) and starts; ready once it has logged `listening`. */
  static async start(config: Record<string, unknown>, databaseUrl = ''): Promise<Gate> {
    const gate = new Gate(await mkdtemp(join(tmpdir(), 'countersign-contract-')));
    const whole = { ...config, database: databaseUrl, dataDir: join(gate.folder, 'data') };
    await writeFile(gate.configFile, JSON.stringify(whole, null, 2));
    await gate.launch();
    return gate;
  }

  async launch(env: Record<string, string> = {}) {
    const child = await launch(['serve', '--config', this.configFile], env);
    this.#child = child;
    this.#output = collect(child);
    const line = await until(
      () => {
        if (child.exitCode !== null) throw new Error(`The service ended: ${this.#output()}`);
        return this.#output()
          .split('\n')
          .find((candidate) => candidate.includes('"msg":"listening"'));
      },
      { deadlineMs: 90_000, what: 'the line "listening"' },
    );
    this.url = JSON.parse(line).url;
  }

  get log() {
    return this.#output();
  }

  /** Sends the signal and waits for the end; returns the exit code. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null) return child?.exitCode ?? null;
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill(signal);
    return ended;
  }

  async stop() {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<Answer<T>> {
    const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.key ? { authorization: `Bearer ${options.key}` } : {}),
        ...options.headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
    });
    const text = await response.text();
    const json = /^application\/(problem\+)?json\b/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      body: (json ? JSON.parse(text) : undefined) as T,
      headers: response.headers,
      text,
    };
  }

  ask(
    body: Record<string, unknown>,
    key: string,
    headers: Record<string, string> = {},
  ): Promise<Answer<Asked>> {
    return this.call<Asked>('POST', '/v1/confirmations', { key, body, headers });
  }

  confirmation(id: string, key: string, query = ''): Promise<Answer<Confirmation>> {
    return this.call<Confirmation>('GET', `/v1/confirmations/${id}${query}`, { key });
  }

  /** The message id of the card of `channel`, once it was sent. */
  async card(id: string, channel: string, key: string): Promise<string> {
    const delivery = await until(
      async () => {
        const { body } = await this.confirmation(id, key);
        return body.deliveries.find(
          (candidate: Delivery) => candidate.channel === channel && candidate.state === 'sent',
        );
      },
      { what: `the card of ${channel}` },
    );
    return String(delivery.messageIds[0]);
  }

  run(id: string, key: string, query = ''): Promise<Answer<Run>> {
    return this.call<Run>('GET', `/v1/runs/${id}${query}`, { key });
  }

  events(query: string, key: string): Promise<Answer<Page<AuditEvent>>> {
    return this.call<Page<AuditEvent>>('GET', `/v1/audit/events?${query}`, { key });
  }
}

/** A database of its own on the test server. */
export async function freshDatabase(serverUrl: string, name: string): Promise<string> {
  const database = `contract_${name}_${process.pid}_${Date.now()}`;
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE "${database}"`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function launch(args: readonly string[], env: Record<string, string>): Promise<ChildProcess> {
  return spawn(process.execPath, [...(await programArguments('service')), ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function collect(child: ChildProcess): () => string {
  const parts: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => parts.push(part));
  return () => parts.join('');
}
