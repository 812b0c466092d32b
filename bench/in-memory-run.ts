import type { InvokePorts } from '../src/agent/invoke-ports.ts';
import type { RunRecord } from '../src/agent/run-record.ts';
import type { RunFacts } from '../src/agent/run-store.ts';
import type { Tool } from '../src/agent/tool.ts';
import type { ToolReach } from '../src/agent/tool-reach.ts';
import { systemClock } from '../src/clock.ts';
import { MASK_BY_SHAPE } from '../src/confirmation/argument-mask.ts';
import { agentId, newRunId, type RunId } from '../src/ids.ts';

/** A record that keeps nothing: what is left is the work itself. */
export class SilentRecord implements RunRecord {
  readonly run: RunId;
  readonly #facts: RunFacts;

  constructor(facts: RunFacts) {
    this.run = facts.id;
    this.#facts = facts;
  }

  async load() {
    return {
      facts: this.#facts,
      messages: [],
      invocations: [],
      cancelRequested: false,
      spokenTurn: null,
      holding: false,
    };
  }
  async appendMessages() {}
  async tell() {}
  async takenUpUnder() {}
  async planned() {}
  async workedMs() {
    return 0;
  }
  async skip() {}
  async markSkipped() {}
  async hold() {}
  async letGo() {}
  async settleUnknown() {}
  async finish() {
    return null;
  }
  async heldAt() {
    return new Date();
  }
  async faults() {
    return 0;
  }
  async park() {
    return false;
  }
  async release() {}
  async proposed() {
    return { rejectedBefore: false };
  }
  async wasRejected() {
    return false;
  }
  async waiting() {}
  async decided() {}
  async executing() {
    return { wanted: true };
  }
  async delegateWaiting() {}
  async executed() {}
  async settled() {}
  async confirmationOf() {
    return null;
  }
}

export const ALWAYS_THERE: ToolReach = {
  isUnlisted: () => false,
  isReachable: () => true,
  reached: async () => {},
};

/** For calls about which nobody has to be asked. */
export function portsWithoutPeople(): InvokePorts {
  const unreachable = () => Promise.reject(new Error('the idle gate asks nobody'));
  return {
    confirmations: {
      get: unreachable,
      wait: unreachable,
      claim: unreachable,
      recordOutcome: unreachable,
      cancel: unreachable,
    },
    unread: new Set(),
    audit: { record: async () => {} },
    mask: MASK_BY_SHAPE,
    clock: systemClock,
    logger: { info() {}, warn() {}, error() {} },
  };
}

/** Pays at once. */
export const PAYING_TOOL: Tool = {
  name: 'oa__purchase_pay',
  description: 'Pays.',
  parameters: { type: 'object' },
  version: 'bench',
  connector: 'oa',
  writes: true,
  idempotent: false,
  joinsRunning: false,
  requiresConfirmation: false,
  timeoutMs: null,
  decisiveFields: [],
  validate: () => ({ kind: 'valid' }),
  execute: async () => ({ kind: 'succeeded', result: { status: 'paid' } }),
};

/** Of a run that does not exist yet. */
export const newFacts = (): RunFacts => {
  const id = newRunId();
  return {
    id,
    organization: 'acme',
    agent: agentId('procurement'),
    executor: 'react',
    input: 'Pay the suppliers.',
    plan: null,
    session: id,
    requester: null,
    requesterNamedByAgent: false,
    evaluation: false,
    hooks: null,
    apiKeyId: null,
    parent: null,
    depth: 0,
  };
};
