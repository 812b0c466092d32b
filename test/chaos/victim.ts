import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelRequest, ModelServer, type Turn, type WireCall } from '../agent/model-server.ts';
import { ToolServer } from '../agent/tool-server.ts';
import { call } from '../e2e/api.ts';
import { KEYS, type Platforms, startPlatforms, yamlFor } from '../e2e/platforms.ts';
import { type ServiceProcess, startServiceProcess } from '../e2e/service-process.ts';
import { runStatement } from '../support/run-statement.ts';
import { type ProxiedConnection, startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { payerConfig } from './payer-config.ts';

/** A moment in what the service says to its database, and there it is killed. */
export interface KillPoint {
  /** All of these are in one thing it says; that is held back, unless `letPass`, or another moment is named. */
  readonly says: readonly string[];
  /** Not there, but when the same connection is answered, says `commit`, or is told that it was committed. */
  readonly heldAt?: 'answered' | 'commit' | 'commit answered';
  /** Words that the answer must hold to be the moment. */
  readonly hears?: string;
  readonly letPass?: boolean;
  /** As many connections have to reach it; one unless said otherwise. */
  readonly times?: number;
}

/** How long anything of this may take on a machine with other work to do. */
export const PATIENCE_MS = 120_000;

/** For a process that is killed a second after it has started: no time goes into what would pay off later. */
const SHORT_LIVED = ['--no-opt', '--min-semi-space-size=64', '--max-semi-space-size=64'];

/**
 * One service process after another on one database, each killed at a chosen point; all else lives on: the database, the
 * chats, the tools, and where asked for another service process, which then takes over.
 */
export class Victim {
  readonly databaseUrl: string;
  readonly platforms: Platforms;
  readonly tools: ToolServer;
  readonly #model: ModelServer;
  readonly #proxy: TcpProxy;
  readonly #yaml: string;
  readonly #dataDir: string;
  readonly #watch: Watch;
  #service: ServiceProcess | null = null;
  #other: ServiceProcess | null = null;
  /** Whose leases are not those of the dead. */
  #living: readonly string[] = [];

  private constructor(input: {
    databaseUrl: string;
    platforms: Platforms;
    tools: ToolServer;
    model: ModelServer;
    proxy: TcpProxy;
    watch: Watch;
    yaml: string;
    dataDir: string;
  }) {
    this.databaseUrl = input.databaseUrl;
    this.platforms = input.platforms;
    this.tools = input.tools;
    this.#model = input.model;
    this.#proxy = input.proxy;
    this.#watch = input.watch;
    this.#yaml = input.yaml;
    this.#dataDir = input.dataDir;
  }

  static async start(databaseUrl: string): Promise<Victim> {
    const platforms = await startPlatforms();
    const tools = new ToolServer();
    const toolsUrl = await tools.start();
    const model = new ModelServer();
    const modelUrl = await model.start();
    model.follow('payer', callOnce);
    const watch = new Watch();
    const proxy = await startTcpProxy(databaseUrl, {
      onSent: (text, connection) => watch.sent(text, connection),
      onAnswered: (text, connection) => watch.answered(text, connection),
    });
    const dataDir = await mkdtemp(join(tmpdir(), 'countersign-victim-'));
    const yaml = yamlFor({
      platforms,
      databaseUrl: proxy.url,
      dataDir,
      changes: payerConfig({ toolsUrl, modelUrl }),
    });
    return new Victim({ databaseUrl, platforms, tools, model, proxy, watch, yaml, dataDir });
  }

  /** The process to be killed next; once it is, the other one. */
  get service(): ServiceProcess {
    const service = this.#service ?? this.#other;
    if (service === null) throw new Error('No service is running');
    return service;
  }

  /** Starts the next process. */
  async begin({ parkAfter }: { readonly parkAfter?: string } = {}): Promise<void> {
    const parking = parkAfter === undefined ? '' : `parkAfter: ${parkAfter}\n`;
    this.#service = await startServiceProcess(this.#yaml + parking, { nodeFlags: SHORT_LIVED });
    this.platforms.serviceUrl = this.#service.url;
  }

  /** Starts the process that lives on beside all those that are killed. It speaks to the database directly. */
  async beginOther(): Promise<void> {
    this.#other = await startServiceProcess(this.#yaml.replace(this.#proxy.url, this.databaseUrl));
    const workers = await runStatement<{ owner: string }>(this.databaseUrl, 'select owner from run_workers');
    this.#living = workers.map(({ owner }) => owner);
  }

  /** When the service stands at this point, in whatever happens from now on. */
  reached(point: KillPoint): Promise<void> {
    return this.#watch.next([point]);
  }

  /**
   * Does something, waits until the service reaches the points (or the promise is kept), and kills it there. Whoever
   * comes next finds its leases, until `letTimePass`.
   */
  async killAt(
    point: KillPoint | readonly KillPoint[] | Promise<unknown>,
    trigger: () => Promise<unknown>,
  ): Promise<void> {
    const reached = point instanceof Promise ? point : this.#watch.next([point].flat());
    // Whoever asked hears nothing more: its connection breaks.
    let failure: unknown = 'nothing failed';
    const triggered = trigger().catch((error: unknown) => {
      failure = error;
    });
    const given = JSON.stringify(point instanceof Promise ? 'a promise' : point);
    let giveUp: NodeJS.Timeout | undefined;
    await Promise.race([
      reached,
      new Promise((_, reject) => {
        const notReached = () =>
          reject(new Error(`Not reached: ${given}; ${failure}\n${this.service.log().slice(-4_000)}`));
        giveUp = setTimeout(notReached, PATIENCE_MS);
      }),
    ]).finally(() => clearTimeout(giveUp));
    await this.service.kill();
    this.#service = null;
    if (this.#other !== null) this.platforms.serviceUrl = this.#other.url;
    this.#proxy.cutStalled();
    await triggered;
  }

  /** What the leases of a dead process would be after a while: over. */
  async letTimePass(): Promise<void> {
    const living = this.#living.map((owner) => `'${owner}'`).join(', ');
    await runStatement(
      this.databaseUrl,
      `delete from run_workers where owner <> all(array[${living}]::text[])`,
    );
    // A card's lease does not say whose it is: where another process lives, they lapse by themselves.
    if (this.#other === null)
      await runStatement(
        this.databaseUrl,
        'update deliveries set lease_until = now() where lease_until > now()',
      );
  }

  /** Starts a run of one call, of a plan or of a model, and gives its id. */
  async startRun(
    by: 'plan' | 'model',
    tool: 'oa__pay' | 'oa__hang' | 'oa__again',
    args: object,
  ): Promise<string> {
    const started = await call<{ id: string; run?: { id: string } }>(this.service.url, 'POST', '/v1/runs', {
      key: KEYS.admin,
      body:
        by === 'plan'
          ? { agent: 'payer', input: 'Pay.', plan: { nodes: [{ id: 'pay', tool, args }] } }
          : { agent: 'buyer', input: JSON.stringify({ name: tool, arguments: args }) },
    });
    const id = started.body.run?.id ?? started.body.id;
    if (started.status !== 202 || !id) throw new Error(`No run: ${JSON.stringify(started)}`);
    return id;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#service?.kill(), this.#other?.kill()]);
    await this.#proxy.stop();
    await Promise.all([this.platforms.stop(), this.tools.stop(), this.#model.stop()]);
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

/** Makes the call that the run's input holds, and has its say after that. */
function callOnce({ messages }: ModelRequest): Turn {
  if (messages.some(({ role }) => role === 'assistant')) return { text: 'Done.' };
  const input = messages.find(({ role }) => role === 'user')?.content ?? '';
  return { calls: [{ id: 'call_0', ...(JSON.parse(input) as WireCall) }] };
}

/** Waits for the points of one kill at a time. */
class Watch {
  readonly #points = new Map<KillPoint, { left: number; readonly marked: Set<ProxiedConnection> }>();
  #reached: () => void = () => {};
  readonly #prepared = new PreparedTexts();

  next(points: readonly KillPoint[]): Promise<void> {
    this.#points.clear();
    for (const point of points) this.#points.set(point, { left: point.times ?? 1, marked: new Set() });
    return new Promise((resolve) => {
      this.#reached = resolve;
    });
  }

  sent(chunk: string, connection: ProxiedConnection): void {
    const text = this.#prepared.spelledOut(chunk);
    for (const [point, { marked }] of this.#points) {
      if (point.says.every((words) => text.includes(words))) {
        if (point.heldAt === undefined) this.#hit(point, connection);
        else marked.add(connection);
      }
      if (point.heldAt === 'commit' && marked.has(connection) && /commit\0/i.test(text)) {
        this.#hit(point, connection);
      }
    }
  }

  answered(text: string, connection: ProxiedConnection): void {
    for (const [point, { marked }] of this.#points) {
      const over =
        point.heldAt === 'answered'
          ? text.includes(point.hears ?? '')
          : point.heldAt === 'commit answered' && text.includes('COMMIT');
      if (over && marked.has(connection)) this.#hit(point, connection);
    }
  }

  #hit(point: KillPoint, connection: ProxiedConnection): void {
    const state = this.#points.get(point);
    if (state === undefined) return;
    state.marked.delete(connection);
    if (!point.letPass) connection.stall();
    state.left -= 1;
    if (state.left > 0) return;
    this.#points.delete(point);
    if (this.#points.size === 0) this.#reached();
  }
}

/** A statement is sent in words once a connection, and by its name from then on. */
class PreparedTexts {
  readonly #byName = new Map<string, string>();

  spelledOut(chunk: string): string {
    for (const [, name = '', text = ''] of chunk.matchAll(/P[\s\S]{4}(\w+)\0([^\0]+)\0/g))
      this.#byName.set(name, text);
    const bound = [...chunk.matchAll(/B[\s\S]{4}\0(\w+)\0/g)].map(
      ([, name = '']) => this.#byName.get(name) ?? '',
    );
    return [chunk, ...bound].join('\n');
  }
}
