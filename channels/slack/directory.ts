import { z } from 'zod';
import type { ChannelActor } from '../../src/channel/inbound-event.ts';
import type { SlackClient } from './client.ts';
import { emailId, SLACK_ID } from './config.ts';

/**
 * The member of the channel's team behind a callback. On an Enterprise Grid a callback may name the organization or
 * the person's home workspace in the place of the team, and the person by their id in the organization. Null where
 * Slack says that they are no member (a guest from another company in a shared channel). Throws where it does not
 * answer, or answers about somebody else: nobody is taken for anybody then.
 *
 * `users.info` (docs.slack.dev, scope `users:read`; the e-mail address needs `users:read.email`).
 */
export async function resolveMember(input: {
  readonly actor: ChannelActor;
  readonly client: SlackClient;
  /** The channel's own team, or organization. */
  readonly team: string;
  readonly signal: AbortSignal;
}): Promise<ChannelActor | null> {
  const { actor, client, team, signal } = input;
  const { user: asked } = actor.ids;
  if (asked === undefined || !SLACK_ID.user.test(asked)) return null;
  const result = await client.call({ method: 'users.info', args: { user: asked }, signal });
  if (result.kind === 'refused' && NO_SUCH_MEMBER.has(result.code)) return null;
  if (result.kind !== 'ok') throw new Error(`The Slack directory did not answer: ${result.error}`);
  const { user } = directoryAnswer.parse(result.data);
  const { enterprise_user: grid } = user;
  if (user.id !== asked && grid?.id !== asked)
    throw new Error('The Slack directory told about somebody else');
  const teams = [user.team_id, grid?.enterprise_id, ...(grid?.teams ?? [])];
  if (user.is_stranger === true || user.deleted === true || !teams.includes(team)) return null;
  // The envelope has the last word on where its person is from: an id of ours that comes from elsewhere is a stranger's.
  if (!teams.includes(actor.tenant)) return null;
  const email = user.profile?.email;
  return {
    ...actor,
    tenant: team,
    ids: { user: team === grid?.enterprise_id ? grid.id : user.id, ...(email && { email: emailId(email) }) },
    isBot: actor.isBot || user.is_bot === true,
  };
}

const NO_SUCH_MEMBER: ReadonlySet<string> = new Set(['user_not_found', 'user_not_visible']);

const userId = z.string().regex(SLACK_ID.user);
const teamId = z.string().regex(SLACK_ID.team);
const directoryAnswer = z.object({
  user: z.object({
    id: userId,
    team_id: teamId.nullish(),
    deleted: z.boolean().nullish(),
    is_bot: z.boolean().nullish(),
    is_stranger: z.boolean().nullish(),
    enterprise_user: z
      .object({ id: userId, enterprise_id: teamId, teams: z.array(teamId).default([]) })
      .nullish(),
    profile: z.object({ email: z.string().max(320).nullish() }).nullish(),
  }),
});
