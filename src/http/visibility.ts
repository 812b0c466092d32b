import type { Run } from '../agent/run.ts';
import type { RunService } from '../agent/run-service.ts';
import type { Config } from '../config/config.ts';
import type { ConfirmationRequest } from '../confirmation/confirmation-request.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { isSeated } from '../confirmation/seats.ts';
import type { ConfirmationId, RunId } from '../ids.ts';
import { hasRole } from './access.ts';
import type { PersonPrincipal, Principal } from './principal.ts';

/**
 * What each principal may see. An agent's key: what its agents asked for and ran, and what their delegates did for
 * them. A person without a role: what they asked for, answer for, may decide or voted on. Everybody else: everything.
 */
export interface Visibility {
  ofConfirmation(principal: Principal, request: ConfirmationRequest): Promise<boolean>;
  ofRun(principal: Principal, run: Run): Promise<boolean>;
  /**
   * Of the rejections that these requests follow, those about which the principal may read everything: it may see the
   * rejected request too. `requests` are such as it may see.
   */
  ofFollowed(
    principal: Principal,
    requests: readonly ConfirmationRequest[],
  ): Promise<ReadonlySet<ConfirmationId>>;
}

/** Delegates of delegates: more than anybody nests on purpose, and an end where a row would point in a circle. */
const DEEPEST_DELEGATION = 16;

export function createVisibility({
  confirmations,
  runs,
  agents,
}: {
  readonly confirmations: Pick<ConfirmationService, 'getClosed'>;
  readonly runs: Pick<RunService, 'get'>;
  readonly agents: Config['agents'];
}): Visibility {
  const ownerOf = new Map(agents.map(({ id, owner }) => [id, owner]));

  /** Whether `isOwn` holds for the run or for one of those that delegated to it. */
  async function ownLineage(run: Run, isOwn: (run: Run) => boolean): Promise<boolean> {
    let current: Run | null = run;
    for (let depth = 0; current && depth < DEEPEST_DELEGATION; depth += 1) {
      if (isOwn(current)) return true;
      current = current.parentRun ? await runs.get(current.parentRun) : null;
    }
    return false;
  }

  const ofRun = async (principal: Principal, run: Run): Promise<boolean> => {
    if (seesEverything(principal)) return true;
    return principal.type === 'key'
      ? ownLineage(run, ({ agent }) => principal.speaksFor(agent))
      : ownLineage(
          run,
          ({ requester, agent }) =>
            requester?.id === principal.person.id || ownerOf.get(agent) === principal.person.id,
        );
  };

  const ofRunWithId = async (principal: Principal, id: RunId): Promise<boolean> => {
    const run = await runs.get(id);
    return run !== null && ofRun(principal, run);
  };

  return {
    ofRun,
    async ofConfirmation(principal, request) {
      if (seesEverything(principal)) return true;
      if (principal.type === 'person') return isInvolved(principal, request);
      if (principal.speaksFor(request.agent)) return true;
      return request.runId !== null && ofRunWithId(principal, request.runId);
    },
    async ofFollowed(principal, requests) {
      const ids = requests.flatMap(({ follows }) => follows?.id ?? []);
      // Of the same run, or of the same agent: a key that sees the one sees the other.
      if (ids.length === 0 || seesEverything(principal) || principal.type === 'key') return new Set(ids);
      const followed = await confirmations.getClosed([...new Set(ids)]);
      return new Set(followed.filter((request) => isInvolved(principal, request)).map(({ id }) => id));
    },
  };
}

export const seesEverything = (principal: Principal): boolean =>
  principal.type === 'key'
    ? principal.role !== 'agent'
    : hasRole(principal, ['operator', 'auditor', 'admin']);

const isInvolved = ({ person }: PersonPrincipal, request: ConfirmationRequest): boolean =>
  request.requester.id === person.id ||
  request.agentOwner === person.id ||
  isSeated(request, person.id) ||
  request.votes.some((vote) => vote.person.id === person.id);
