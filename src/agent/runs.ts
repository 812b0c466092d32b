import type { Clock } from '../clock.ts';
import type { Config, PersonConfig } from '../config/config.ts';
import type { PersonRef } from '../confirmation/confirmation-request.ts';
import { CountersignError } from '../errors.ts';
import { newRunId, type PersonId, type RunId } from '../ids.ts';
import type { AgentDirectory, AgentSetup } from './agent-directory.ts';
import { faultOfPlanFor } from './plan-check.ts';
import type { Run, RunEvent, RunStatus } from './run.ts';
import type { RunPool } from './run-pool.ts';
import type { RunService, StartRun } from './run-service.ts';
import { MOST_DELEGATES, type RunCreation, type RunFacts, type RunStore } from './run-store.ts';
import type { RunWatcher } from './run-watcher.ts';
import { MAX_DEPTH, type RunWorkerPorts } from './run-worker.ts';

const EVENTS_AT_ONCE = 200;
/** How long `cancel` waits to show the run as it ended. */
const CANCEL_WAIT_MS = 3_000;

export interface RunsPorts {
  readonly config: Pick<Config, 'organization' | 'people'>;
  readonly agents: AgentDirectory;
  readonly store: RunStore;
  readonly pool: RunPool;
  readonly watcher: RunWatcher;
  readonly clock: Clock;
}

/** Runs on this service: any replica starts, shows and stops them. */
export class Runs implements RunService {
  readonly #ports: RunsPorts;

  constructor(ports: RunsPorts) {
    this.#ports = ports;
  }

  async start(input: StartRun): Promise<Run> {
    const setup = this.#setupFor(input);
    const id = newRunId();
    await this.#begin({
      id,
      organization: this.#ports.config.organization,
      agent: input.agent,
      executor: input.plan === null ? setup.config.executor : 'dag',
      input: input.input,
      plan: input.plan,
      session: input.session ?? id,
      requester: this.#requester(input.requester ?? setup.config.owner),
      requesterNamedByAgent: input.requester !== null && input.requesterNamedByAgent,
      evaluation: input.evaluation,
      hooks: setup.hooks.chain,
      apiKeyId: input.apiKeyId,
      parent: null,
      depth: 0,
    });
    const run = await this.get(id);
    if (run === null) throw new Error(`run ${id} is gone right after it was stored`);
    return run;
  }

  /** Starts a delegate's run, or answers the one that this invocation has started already. */
  async startChild({ parent, invocation, agent, input }: Parameters<RunWorkerPorts['startChild']>[0]) {
    if (parent.depth + 1 >= MAX_DEPTH) {
      throw new CountersignError('invalid_request', `Agents may call agents at most ${MAX_DEPTH} deep.`);
    }
    const setup = this.#setupFor({ agent, plan: null });
    const id = newRunId();
    const created = await this.#begin({
      id,
      organization: parent.organization,
      agent,
      executor: setup.config.executor,
      input,
      plan: null,
      session: parent.session,
      requester: parent.requester,
      requesterNamedByAgent: parent.requesterNamedByAgent,
      evaluation: parent.evaluation,
      hooks: setup.hooks.chain,
      apiKeyId: null,
      parent: { run: parent.id, invocation },
      depth: parent.depth + 1,
    });
    if (created === 'too-many') {
      const what = 'A run, with all the runs that it starts and that these start, may call agents';
      throw new CountersignError('invalid_request', `${what} at most ${MOST_DELEGATES} times.`);
    }
    if (created === 'unwanted') {
      throw new CountersignError('cancelled', 'The run that calls the other agent is over.');
    }
    const child = created === 'created' ? id : await this.#ports.store.childOf(invocation);
    if (child === null) throw new Error(`the run that invocation ${invocation} started is gone`);
    return child;
  }

  get(id: RunId): Promise<Run | null> {
    return this.#ports.store.find(id);
  }

  async wait({
    id,
    timeoutMs,
    untilWaiting,
    signal,
  }: Parameters<RunService['wait']>[0]): Promise<Run | null> {
    const { store, watcher, clock } = this.#ports;
    const over = new AbortController();
    const cancelTimer = clock.setTimer(timeoutMs, () => over.abort());
    const until = AbortSignal.any([signal, over.signal]);
    const subscription = watcher.subscribe(id);
    try {
      for (;;) {
        const status = await store.statusOf(id);
        if (status === null) return null;
        if (isFinished(status) || (untilWaiting && status === 'waiting') || until.aborted)
          return store.find(id);
        await subscription.changed(until);
      }
    } finally {
      cancelTimer();
      subscription.close();
    }
  }

  async *events({ id, afterSeq, signal }: Parameters<RunService['events']>[0]): AsyncGenerator<RunEvent> {
    const { store, watcher } = this.#ports;
    const subscription = watcher.subscribe(id);
    let seen = afterSeq;
    try {
      while (!signal.aborted) {
        const events = await store.eventsAfter(id, seen, EVENTS_AT_ONCE);
        for (const event of events) {
          yield event;
          seen = event.seq;
          if (event.kind === 'run.finished') return;
        }
        if (events.length === EVENTS_AT_ONCE) continue;
        const status = await store.statusOf(id);
        if (status === null) return;
        // Finished between the two reads, or before the caller's place in the stream: one more look tells.
        if (isFinished(status) && (await store.eventsAfter(id, seen, 1)).length === 0) return;
        if (!isFinished(status)) await subscription.changed(signal);
      }
    } finally {
      subscription.close();
    }
  }

  async cancel(id: RunId): Promise<Run | null> {
    const open = await this.#ports.store.requestCancel(id);
    this.#ports.pool.cancelLocal(id);
    this.#ports.pool.lookForWoken();
    if (!open) return this.get(id);
    return this.wait({
      id,
      timeoutMs: CANCEL_WAIT_MS,
      untilWaiting: false,
      signal: new AbortController().signal,
    });
  }

  async #begin(facts: RunFacts): Promise<RunCreation['kind']> {
    const creation = await this.#ports.store.create(facts, this.#ports.pool.owner);
    if (creation.kind === 'created') this.#ports.pool.begin(creation.lease);
    return creation.kind;
  }

  #setupFor({ agent, plan }: Pick<StartRun, 'agent' | 'plan'>): AgentSetup {
    const setup = this.#ports.agents.find(agent);
    if (setup === null) {
      throw this.#ports.agents.isConfigured(agent)
        ? new CountersignError('unavailable', `The agent "${agent}" cannot run: its hooks cannot be built.`)
        : new CountersignError('unknown_agent', `There is no agent named "${agent}".`);
    }
    if (plan !== null) {
      const fault = faultOfPlanFor(setup, plan);
      if (fault !== null) throw new CountersignError('invalid_plan', fault);
      return setup;
    }
    if (setup.config.executor === 'dag' && setup.model === null) {
      throw new CountersignError(
        'invalid_plan',
        `The agent "${agent}" works by plan, and has no model that makes one: send a plan along.`,
      );
    }
    if (setup.model === null) {
      throw new CountersignError(
        'invalid_request',
        `The agent "${agent}" has no model: it asks from outside.`,
      );
    }
    return setup;
  }

  #requester(id: PersonId | null): PersonRef | null {
    if (id === null) return null;
    const person = findPerson(this.#ports.config.people, id);
    if (person === null) throw new CountersignError('unknown_requester', `There is no person "${id}".`);
    return { id: person.id, name: person.name };
  }
}

/** The active person of this id, or null. */
export const findPerson = (people: readonly PersonConfig[], id: PersonId): PersonConfig | null =>
  people.find((person) => person.id === id && person.active) ?? null;

const isFinished = (status: RunStatus): boolean => status !== 'running' && status !== 'waiting';
