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
  readonly letPass?: boolean;
  /** As many connections have to reach it; one unless said otherwise. */
  readonly times?: number;
}

/** One service process after another on one database, each killed at a chosen point; all else lives on. */
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
    const victim = new Victim({ databaseUrl, platforms, tools, model, proxy, watch, yaml, dataDir });
    await victim.begin();
    return victim;
  }

  get service(): ServiceProcess {
    if (this.#service === null) throw new Error('No service is running');
    return this.#service;
  }

  /** Starts the next process. */
  async begin({ parkAfter }: { readonly parkAfter?: string } = {}): Promise<void> {
    const parking = parkAfter === undefined ? '' : `parkAfter: ${parkAfter}\n`;
    this.#service = await startServiceProcess(this.#yaml + parking);
    this.platforms.serviceUrl = this.#service.url;
  }

  /** When the service stands at this point, in whatever happens from now on. */
  reached(point: KillPoint): Promise<void> {
    return this.#watch.next([point]);
  }

  /** Does something, waits until the service reaches the points (or the promise is kept), and kills it there. */
  async killAt(
    point: KillPoint | readonly KillPoint[] | Promise<unknown>,
    trigger: () => Promise<unknown>,
  ): Promise<void> {
    const reached = point instanceof Promise ? point : this.#watch.next([point].flat());
    // Whoever asked hears nothing more: its connection breaks.
    const triggered = trigger().catch(() => {});
    const given = JSON.stringify(point instanceof Promise ? 'a promise' : point);
    await Promise.race([
      reached,
      new Promise((_, reject) => setTimeout(reject, 20_000, new Error(`Not reached: ${given}`)).unref()),
    ]);
    await this.service.kill();
    this.#service = null;
    this.#proxy.cutStalled();
    await triggered;
    await this.letTimePass();
  }

  /** What the leases of a dead process would be after a while: over. */
  async letTimePass(): Promise<void> {
    await runStatement(
      this.databaseUrl,
      'update deliveries set lease_until = now() where lease_until > now()',
    );
    await runStatement(this.databaseUrl, 'delete from run_workers');
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
    await this.#service?.kill();
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
        point.heldAt === 'answered' || (point.heldAt === 'commit answered' && text.includes('COMMIT'));
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
