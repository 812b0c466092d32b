import type { AuditEventJson } from '../http/schemas/audit-schema.ts';
import { drawnFeishu } from '../standin/page/drawn-feishu.ts';
import { drawnSlack } from '../standin/page/drawn-slack.ts';
import { WatchedState } from '../standin/page/watched-state.ts';
import { CAST, FEISHU_OPEN_IDS, SLACK_USERS } from './cast.ts';
import { DEMO_POLICIES } from './demo-configuration.ts';
import type { DemoWorld } from './demo-world.ts';
import { RunFollower } from './run-follower.ts';
import type { Verification } from './service-client.ts';

/** How often the record is read while somebody looks; the API has no stream of it. */
const READ_RECORD_EVERY_MS = 700;

/** Everything the page shows, gathered from the parts of the demo and told to whoever watches. */
export class PageState {
  readonly runs: RunFollower;
  readonly #world: DemoWorld;
  /** Null: the script. */
  readonly #model: string | null;
  readonly #shown = new WatchedState(() => this.#snapshot());
  readonly #unsubscribe: (() => void)[];
  #events: readonly AuditEventJson[] = [];
  #verification: Verification | null = null;
  #recordTimer: NodeJS.Timeout | null = null;
  #reading: Promise<void> = Promise.resolve();

  constructor(world: DemoWorld, model: string | null) {
    this.#world = world;
    this.#model = model;
    const changed = () => this.#shown.changed();
    this.runs = new RunFollower(world.service, changed);
    this.#unsubscribe = [
      world.feishu.onChange(changed),
      world.slack.onChange(changed),
      world.payments.onPayment(changed),
    ];
  }

  /** Calls `watcher` with the state as JSON now and after each change; the returned function ends it. */
  watch(watcher: (snapshot: string) => void): () => void {
    const end = this.#shown.watch(watcher);
    if (this.#recordTimer === null) this.#readRecordSoon(0);
    return end;
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    this.#shown.stop();
    this.runs.stop();
    if (this.#recordTimer !== null) clearTimeout(this.#recordTimer);
    await this.#reading;
  }

  #readRecordSoon(delayMs: number): void {
    this.#recordTimer = setTimeout(() => {
      this.#reading = this.#readRecord()
        // The next round reads it again.
        .catch(() => {})
        .then(() => {
          this.#recordTimer = null;
          if (this.#shown.isWatched()) this.#readRecordSoon(READ_RECORD_EVERY_MS);
        });
    }, delayMs);
  }

  async #readRecord(): Promise<void> {
    const events = await this.#world.service.auditEvents();
    if (events.length === this.#events.length && this.#verification !== null) return;
    this.#verification = await this.#world.service.verifyAudit();
    this.#events = events;
    this.#shown.changed();
  }

  #snapshot() {
    const { feishu, slack, payments, locale, serviceUrl, secrets } = this.#world;
    return {
      locale,
      serviceUrl,
      model: this.#model,
      policies: DEMO_POLICIES(this.#world.hastyDeadline),
      people: CAST.map(({ groups: _groups, roles: _roles, ...person }) => ({
        ...person,
        consoleKey: secrets.consoleKeys.get(person.id),
      })),
      runs: this.runs.runs(),
      feishu: drawnFeishu(feishu, FEISHU_OPEN_IDS),
      slack: drawnSlack(slack, SLACK_USERS),
      ledger: payments.ledger(),
      record: { events: this.#events, verification: this.#verification },
    };
  }
}
