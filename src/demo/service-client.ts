import type { AuditEventJson } from '../http/schemas/audit-schema.ts';
import type { RunJson } from '../http/schemas/run-schema.ts';

export type Verification =
  | { readonly ok: true; readonly events: number }
  | { readonly ok: false; readonly firstBad: { readonly seq: number | null; readonly reason: string } };

/** The service's HTTP API as the demo uses it, with the keys of the agent's program and of the audit desk. */
export interface ServiceClient {
  startRun(input: string): Promise<RunJson>;
  run(id: string): Promise<RunJson>;
  /** Held until the run is finished, or with `until: waiting` also until it waits for a person; at most a minute. */
  waitForRun(id: string, until: 'finished' | 'waiting'): Promise<RunJson>;
  /** The kinds of the run's events as they happen; ends after `run.finished` or when `signal` aborts. */
  runEvents(id: string, signal: AbortSignal): AsyncGenerator<string, void, undefined>;
  /** The whole record, oldest first. */
  auditEvents(): Promise<readonly AuditEventJson[]>;
  verifyAudit(): Promise<Verification>;
}

export function createServiceClient(input: {
  readonly url: string;
  readonly agentKey: string;
  readonly auditKey: string;
}): ServiceClient {
  const { url, agentKey, auditKey } = input;
  const call = async (path: string, key: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(new URL(path, url), {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...init.headers },
    });
    if (!response.ok) {
      throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${await response.text()}`);
    }
    return response;
  };
  const read = async <T>(path: string, key: string): Promise<T> =>
    (await call(path, key)).json() as Promise<T>;

  return {
    async startRun(text) {
      const response = await call('/v1/runs', agentKey, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ agent: 'procurement', input: text, session: 'purchasing' }),
      });
      const { run } = (await response.json()) as { run: RunJson };
      return run;
    },
    run: (id) => read(`/v1/runs/${id}`, agentKey),
    waitForRun: (id, until) => read(`/v1/runs/${id}?wait=60s&until=${until}`, agentKey),
    async *runEvents(id, signal) {
      const { body } = await call(`/v1/runs/${id}/events`, agentKey, { signal });
      if (body) yield* eventKinds(body);
    },
    async auditEvents() {
      const events: AuditEventJson[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        const page: { items: AuditEventJson[]; nextCursor: string | null } = await read(
          `/v1/audit/events?limit=200${query}`,
          auditKey,
        );
        events.push(...page.items);
        cursor = page.nextCursor;
      }
      return events;
    },
    verifyAudit: () => read('/v1/audit/verify', auditKey),
  };
}

/** The `event:` fields of a stream of server-sent events. */
async function* eventKinds(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('event: ')) yield line.slice('event: '.length);
  }
}
