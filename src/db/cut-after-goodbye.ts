import type { ClientBase } from 'pg';

/** How long a connection may take to say goodbye. */
const GOODBYE_MS = 2_000;

/**
 * Cuts those of `clients` that have not ended by themselves when their time is over: the other side of a half-open
 * connection never answers a goodbye, and its socket would keep the process alive. `clients` is read when that time
 * has come. Does not keep the process alive itself.
 */
export function cutAfterGoodbye(clients: Iterable<ClientBase>): void {
  setTimeout(() => {
    for (const client of clients) socketOf(client)?.destroy();
  }, GOODBYE_MS).unref();
}

/** The declarations leave it out. */
const socketOf = (client: ClientBase): { destroy(): void } | undefined =>
  (client as unknown as { readonly connection?: { readonly stream?: { destroy(): void } } }).connection
    ?.stream;
