import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { McpConnector, REACHED_WITHIN_MS } from '../../src/agent/mcp-connector.ts';
import type { McpListingStore } from '../../src/agent/mcp-listing-store.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Config, McpConnectorConfig, McpToolRule } from '../../src/config/config.ts';

const PROGRAM = fileURLToPath(new URL('./mcp-stdio-server.mjs', import.meta.url));

export const listed = (name: string, changes: object = {}): object => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  ...changes,
});

export const mcpRule = (name: string, changes: Partial<McpToolRule> = {}): McpToolRule => ({
  name,
  card: { amount: null, currency: null, payee: null, decisive: [] },
  writes: true,
  idempotent: false,
  requiresConfirmation: null,
  timeoutMs: 5_000,
  ...changes,
});

/** The folder of one stdio server: what it lists, what it was asked, how often it was started. */
export class McpFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'mcp-'));

  /** Whole or not at all: the server may read at any moment. */
  list(...tools: readonly object[]): void {
    writeFileSync(join(this.path, 'tools.new'), JSON.stringify(tools));
    renameSync(join(this.path, 'tools.new'), join(this.path, 'tools.json'));
  }

  calls(): { name: string; arguments: object; _meta: Record<string, unknown> }[] {
    return this.#lines('calls.jsonl');
  }

  starts(): { pid: number; env: Record<string, string> }[] {
    return this.#lines('started.jsonl');
  }

  /** From its next start on, the program ends at once, or no longer does. */
  down(down: boolean): void {
    if (down) writeFileSync(join(this.path, 'down'), '');
    else rmSync(join(this.path, 'down'), { force: true });
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  #lines<T>(name: string): T[] {
    const path = join(this.path, name);
    if (!existsSync(path)) return [];
    const text = readFileSync(path, 'utf8');
    return text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
}

export const stdioConnector = (
  folder: McpFolder,
  changes: Partial<McpConnectorConfig> = {},
  mode = 'orderly',
): McpConnectorConfig => ({
  id: 'files',
  kind: 'mcp',
  server: {
    transport: 'stdio',
    command: [process.execPath, PROGRAM, folder.path, mode],
    env: { GREETING: 'hello' },
    cwd: null,
  },
  requiresConfirmation: [],
  tools: [],
  ...changes,
});

/** Back-off, pauses and the wait for a server that is away pass at once; everything else takes the time it takes. */
export const hastyClock: Clock = {
  ...systemClock,
  setTimer: (delayMs, run) =>
    systemClock.setTimer(
      delayMs <= 5_000 || delayMs === REACHED_WITHIN_MS ? Math.min(delayMs, 300) : delayMs,
      run,
    ),
};

export interface LogLine {
  readonly level: string;
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export function startConnector(
  connector: McpConnectorConfig,
  options: {
    readonly policies?: Config['policies'];
    readonly clock?: Clock;
    /** Kept beyond this process; nothing is, unless given. */
    readonly listings?: McpListingStore;
  } = {},
): { readonly connector: McpConnector; readonly log: LogLine[] } {
  const log: LogLine[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void log.push({ level, fields: { ...fields }, message });
  const started = new McpConnector(connector, {
    clock: options.clock ?? hastyClock,
    logger: { info: note('info'), warn: note('warn'), error: note('error') },
    config: { policies: options.policies ?? [], agents: [] },
    listings: options.listings ?? { last: async () => null, keep: async () => {} },
  });
  void started.start();
  return { connector: started, log };
}
