import type { AuditEventJson } from '../http/schemas/audit-schema.ts';
import { CAST } from './cast.ts';
import { DEMO_POLICIES } from './demo-configuration.ts';
import type { DemoWorld } from './demo-world.ts';
import { RunFollower } from './run-follower.ts';
import type { Verification } from './service-client.ts';

/** How often the record is read while somebody looks; the API has no stream of it. */
const READ_RECORD_EVERY_MS = 700;
/** Changes that come together are shown together. */
const GATHER_MS = 25;

/** Everything the page shows, gathered from the parts of the demo and told to whoever watches. */
export class PageState {
  readonly runs: RunFollower;
  readonly #world: DemoWorld;
  /** Null: the script. */
  readonly #model: string | null;
  readonly #watchers = new Set<(snapshot: string) => void>();
  readonly #unsubscribe: (() => void)[];
  #events: readonly AuditEventJson[] = [];
  #verification: Verification | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #recordTimer: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();

  constructor(world: DemoWorld, model: string | null) {
    this.#world = world;
    this.#model = model;
    const changed = () => this.#changed();
    this.runs = new RunFollower(world.service, changed);
    this.#unsubscribe = [
      world.feishu.onChange(changed),
      world.slack.onChange(changed),
      world.payments.onPayment(changed),
    ];
  }

  /** Calls `watcher` with the state as JSON now and after each change; the returned function ends it. */
  watch(watcher: (snapshot: string) => void): () => void {
    this.#watchers.add(watcher);
    watcher(this.#snapshot());
    if (this.#recordTimer === null) this.#readRecordSoon(0);
    return () => this.#watchers.delete(watcher);
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    this.#watchers.clear();
    this.runs.stop();
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    if (this.#recordTimer !== null) clearTimeout(this.#recordTimer);
    await this.#reading;
  }

  #changed(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      const snapshot = this.#snapshot();
      for (const watcher of this.#watchers) watcher(snapshot);
    }, GATHER_MS);
  }

  #readRecordSoon(delayMs: number): void {
    this.#recordTimer = setTimeout(() => {
      this.#reading = this.#readRecord()
        // The next round reads it again.
        .catch(() => {})
        .then(() => {
          this.#recordTimer = null;
          if (this.#watchers.size > 0) this.#readRecordSoon(READ_RECORD_EVERY_MS);
        });
    }, delayMs);
  }

  async #readRecord(): Promise<void> {
    const events = await this.#world.service.auditEvents();
    if (events.length === this.#events.length && this.#verification !== null) return;
    this.#verification = await this.#world.service.verifyAudit();
    this.#events = events;
    this.#changed();
  }

  #snapshot(): string {
    const { feishu, slack, payments, locale, serviceUrl, secrets } = this.#world;
    return JSON.stringify({
      locale,
      serviceUrl,
      model: this.#model,
      policies: DEMO_POLICIES(this.#world.hastyDeadline),
      people: CAST.map(({ groups: _groups, roles: _roles, ...person }) => ({
        ...person,
        consoleKey: secrets.consoleKeys.get(person.id),
      })),
      runs: this.runs.runs(),
      feishu: feishu.messages().map(({ messageId, createdAt, contents, card }) => ({
        messageId,
        createdAt,
        changes: contents.length - 1,
        card,
      })),
      slack: {
        messages: slack.messages().map(({ ts, text, blocks, edited, threadTs, broadcast }) => ({
          ...{ ts, text, blocks, edited, threadTs, broadcast },
        })),
        ephemerals: CAST.flatMap(({ slackUser }) => slack.ephemeralsOf(slackUser)),
        modals: CAST.flatMap(({ slackUser }) => slack.modalOf(slackUser) ?? []),
      },
      ledger: payments.ledger(),
      record: { events: this.#events, verification: this.#verification },
    });
  }
}
