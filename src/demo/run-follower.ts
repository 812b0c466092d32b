import type { RunJson } from '../http/schemas/run-schema.ts';
import type { ServiceClient } from './service-client.ts';

/** Starts runs and keeps what the API says about each, following its event stream until it is finished. */
export class RunFollower {
  readonly #service: ServiceClient;
  readonly #onChange: () => void;
  readonly #runs = new Map<string, RunJson>();
  readonly #stopped = new AbortController();

  constructor(service: ServiceClient, onChange: () => void) {
    this.#service = service;
    this.#onChange = onChange;
  }

  /** Oldest first. */
  runs(): readonly RunJson[] {
    return [...this.#runs.values()];
  }

  async start(input: string): Promise<void> {
    const run = await this.#service.startRun(input);
    this.#keep(run);
    // A stream that breaks leaves the page with what it knew; the run itself goes on.
    void this.#follow(run.id).catch(() => {});
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #follow(id: string): Promise<void> {
    for await (const kind of this.#service.runEvents(id, this.#stopped.signal)) {
      // What the model says shows in the end; a run that speaks looks the same.
      if (kind !== 'model.delta') this.#keep(await this.#service.run(id));
    }
    this.#keep(await this.#service.run(id));
  }

  #keep(run: RunJson): void {
    this.#runs.set(run.id, run);
    this.#onChange();
  }
}
