import type { Channel } from '../channel/channel.ts';
import type { TapEvent } from '../channel/inbound-event.ts';
import type { ActorDirectory } from './actor-directory.ts';
import type { Roster } from './roster.ts';
import { TAP_REFUSALS, type Voter, voterOf } from './tap-refusal.ts';

/**
 * Who acted: by the envelope alone where that is enough, else by the further ids that the platform's directory has for
 * the same account. A directory that gives no answer makes nobody known and nobody a stranger. `onFailed` is told why.
 */
export async function resolveVoter(input: {
  readonly roster: Pick<Roster, 'personOf' | 'isResolvable'>;
  readonly directory: ActorDirectory;
  readonly channel: Channel;
  readonly event: TapEvent;
  readonly onFailed: (error: unknown) => void;
}): Promise<Voter> {
  const { roster, directory, channel, event, onFailed } = input;
  const voter = voterOf(roster, event);
  const isUnknown = voter.kind === 'refused' && voter.refusal === TAP_REFUSALS.unknownPerson;
  if (!isUnknown || !roster.isResolvable(event.actor, channel.address.tenant)) return voter;
  const answer = await directory.resolve(channel, event.actor);
  switch (answer.kind) {
    case 'found':
      return voterOf(roster, { ...event, actor: answer.actor });
    case 'unknown':
      return voter;
    case 'unavailable':
      onFailed(answer.error);
      return { kind: 'refused', refusal: TAP_REFUSALS.directoryUnavailable, person: null };
  }
}
