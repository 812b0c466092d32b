import pg from 'pg';
import { cutAfterGoodbye } from './cut-after-goodbye.ts';
import { LISTEN_CHANNEL } from './topics.ts';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 2_000;
/** How often a silent connection is asked whether it still is one, and how long the answer may take. */
const PROBE_EVERY_MS = 10_000;
const PROBE_TIMEOUT_MS = 5_000;

/**
 * The one LISTEN connection of a process. It comes back by itself for ever: after a break, a terminated backend, a
 * restart of the server, or silence on a half-open connection. `onChange(true)` follows each (re)connection, since
 * notifications may have been lost before it.
 */
export class PostgresListener {
  readonly #url: string;
  readonly #onPayload: (payload: string) => void;
  readonly #onChange: (connected: boolean) => void;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | null = null;
  #retryMs = FIRST_RETRY_MS;
  #stopped = false;

  constructor(input: {
    readonly url: string;
    readonly onPayload: (payload: string) => void;
    readonly onChange: (connected: boolean) => void;
  }) {
    this.#url = input.url;
    this.#onPayload = input.onPayload;
    this.#onChange = input.onChange;
  }

  get connected(): boolean {
    return this.#client !== null;
  }

  /** Connects once and throws when that fails; from then on it reconnects by itself. */
  async start(): Promise<void> {
    await this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#clearTimer();
    const client = this.#client;
    this.#client = null;
    if (client !== null) await goodbye(client);
  }

  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'countersign-listen',
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on('error', () => this.#lost(client));
    client.on('end', () => this.#lost(client));
    client.on('notification', ({ payload }) => this.#onPayload(payload ?? ''));
    try {
      await client.connect();
      await client.query(`listen ${LISTEN_CHANNEL}`);
    } catch (error) {
      await goodbye(client);
      throw error;
    }
    if (this.#stopped) return goodbye(client);
    this.#client = client;
    this.#retryMs = FIRST_RETRY_MS;
    this.#probeLater(client);
    this.#onChange(true);
  }

  #probeLater(client: pg.Client): void {
    this.#schedule(PROBE_EVERY_MS, () => {
      client.query('select 1').then(
        () => this.#client === client && this.#probeLater(client),
        () => this.#lost(client),
      );
    });
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    void goodbye(client);
    this.#onChange(false);
    this.#reconnectLater();
  }

  #reconnectLater(): void {
    if (this.#stopped) return;
    this.#schedule(this.#retryMs, () => {
      this.#retryMs = Math.min(LONGEST_RETRY_MS, this.#retryMs * 2);
      this.#connect().catch(() => this.#reconnectLater());
    });
  }

  #schedule(delayMs: number, run: () => void): void {
    this.#clearTimer();
    this.#timer = setTimeout(run, delayMs);
    this.#timer.unref();
  }

  #clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer);
  }
}

function goodbye(client: pg.Client): Promise<void> {
  cutAfterGoodbye([client]);
  return client.end().catch(() => {});
}
