import { Agent, request } from 'node:http';

/** One request as it goes over the wire; a header given as a list is sent that many times. */
export interface WireRequest {
  readonly method?: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Buffer;
  /** Address on loopback that it comes from; limits are counted by address. */
  readonly from?: string;
  /** Over a connection that others share, as a platform with many callbacks would. */
  readonly shared?: boolean;
}

export interface WireAnswer {
  readonly status: number;
  readonly body: string;
  readonly elapsedMs: number;
}

/** Sends exactly these headers and bytes; status 0 where the connection broke without an answer. */
export function post(
  url: string,
  { method = 'POST', headers, body, from, shared = false }: WireRequest,
): Promise<WireAnswer> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const answer = (status: number, text: string) =>
      resolve({ status, body: text, elapsedMs: performance.now() - startedAt });
    const call = request(url, {
      method,
      agent: shared ? SHARED : false,
      headers: { ...copy(headers), 'content-length': Buffer.byteLength(body) },
      ...(from === undefined ? {} : { localAddress: from }),
    });
    call.on('error', () => answer(0, ''));
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => answer(response.statusCode ?? 0, Buffer.concat(chunks).toString()));
      response.on('error', () => answer(0, ''));
    });
    call.end(body);
  });
}

/** Runs `work` on every item, `width` at a time, and gives the results in order. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < items.length; index = next++)
      results[index] = await work(items[index] as Item, index);
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

const SHARED = new Agent({ keepAlive: true, maxSockets: 16 });

const copy = (headers: WireRequest['headers']): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  );
