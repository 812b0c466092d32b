import type { RunEvent } from '../agent/run.ts';
import { type Clock, sleep } from '../clock.ts';
import { runEventJson } from './run-json.ts';

/** Proxies close connections on which nothing moves; a comment this often keeps them open. */
const HEARTBEAT_MS = 15_000;
const HEARTBEAT = ': still here\n\n';
/** Headers leave with the first byte: without one, a client would not know for a while that it is heard. */
const GREETING = ': listening\n\n';

/**
 * The text of an event stream (WHATWG HTML, section 9.2). The id of an event is its number within the run, so that
 * `Last-Event-ID` says where to go on. Ends with `run.finished`, or when `events` ends.
 */
export async function* serverSentEvents({
  events,
  clock,
  signal,
  greet,
}: {
  readonly events: AsyncGenerator<RunEvent, void, undefined>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether the first event may be long in coming. */
  readonly greet: boolean;
}): AsyncGenerator<string, void, undefined> {
  try {
    if (greet) yield GREETING;
    let next = events.next();
    for (;;) {
      const winner = await orHeartbeat(next, clock, signal);
      if (winner === 'heartbeat') {
        yield HEARTBEAT;
        continue;
      }
      if (winner.done) return;
      const event = winner.value;
      yield `id: ${event.seq}\nevent: ${event.kind}\ndata: ${JSON.stringify(runEventJson(event))}\n\n`;
      if (event.kind === 'run.finished') return;
      next = events.next();
    }
  } finally {
    // Not awaited: a source that still waits for its next event ends by the signal, not by this call.
    void events.return().catch(() => {});
  }
}

async function orHeartbeat<T>(next: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T | 'heartbeat'> {
  const done = new AbortController();
  const stop = () => done.abort();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([
      next,
      // Once the client has gone the heartbeat is over, and the event source ends by itself.
      sleep(clock, HEARTBEAT_MS, done.signal).then(
        () => 'heartbeat' as const,
        () => next,
      ),
    ]);
  } finally {
    done.abort();
    signal.removeEventListener('abort', stop);
  }
}
