/** Changes that come together are shown together. */
const GATHER_MS = 25;

/** What a page shows, told as JSON to whoever watches. */
export class WatchedState {
  readonly #read: () => unknown;
  readonly #watchers = new Set<(snapshot: string) => void>();
  #gathering: NodeJS.Timeout | null = null;

  constructor(read: () => unknown) {
    this.#read = read;
  }

  isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Calls `watcher` with the state now and after each change; the returned function ends it. */
  watch(watcher: (snapshot: string) => void): () => void {
    this.#watchers.add(watcher);
    watcher(JSON.stringify(this.#read()));
    return () => this.#watchers.delete(watcher);
  }

  changed(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      const snapshot = JSON.stringify(this.#read());
      for (const watcher of this.#watchers) watcher(snapshot);
    }, GATHER_MS);
  }

  stop(): void {
    this.#watchers.clear();
    if (this.#gathering !== null) clearTimeout(this.#gathering);
  }
}
