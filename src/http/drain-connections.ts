import type { HttpApp } from './http-app.ts';

/** What is still open this long after the stop began is cut off: a callback has 3 seconds, a long wait ends at once. */
const GRACE_MS = 8_000;

/**
 * Lets a stop end. Node closes the connections that are idle when the stop begins; one that was answering then stays
 * open afterwards, kept alive for the client's next request, and would hold the process for over a minute.
 */
export function drainConnections(app: HttpApp): void {
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    // Also ends connections that never sent a request, which do not count as idle.
    const timer = setTimeout(() => app.server.closeAllConnections(), GRACE_MS);
    app.server.once('close', () => clearTimeout(timer));
  });
  app.addHook('onResponse', async () => {
    // The connection counts as idle only after the handlers of this event.
    if (stopping) setImmediate(() => app.server.closeIdleConnections());
  });
}
