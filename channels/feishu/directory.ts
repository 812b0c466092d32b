import { z } from 'zod';
import type { ChannelActor } from '../../src/channel/inbound-event.ts';
import type { FeishuClient } from './client.ts';
import { emailId } from './config.ts';

/**
 * The member behind a callback's open id, by every id the directory tells: the union id, the user id and the e-mail
 * address, each where the app may read it. Null where there is no such member. Throws where the directory gives no
 * answer, or one that contradicts the envelope: nobody is taken for anybody then.
 *
 * `GET /open-apis/contact/v3/users/:user_id` (open.feishu.cn, "Get a single user's information").
 */
export async function resolveMember(input: {
  readonly actor: ChannelActor;
  readonly client: Pick<FeishuClient, 'call'>;
  /** The app's own; the directory knows nobody of another. */
  readonly tenant: string;
  readonly signal: AbortSignal;
}): Promise<ChannelActor | null> {
  const { actor, client, tenant, signal } = input;
  const { openId } = actor.ids;
  // An id goes into the path, so only one that is nothing but an id may.
  if (actor.tenant !== tenant || openId === undefined || !OPEN_ID.test(openId)) return null;
  const result = await client.call({
    method: 'GET',
    path: `/open-apis/contact/v3/users/${openId}`,
    params: { user_id_type: 'open_id' },
    signal,
  });
  if (result.kind === 'refused' && result.why === 'no-such-member') return null;
  if (result.kind !== 'done') throw new Error(`The Feishu directory did not answer: ${result.error}`);
  const { user } = directoryAnswer.parse(result.data);
  if (user.status?.is_resigned === true) return null;
  const told: Readonly<Record<string, string | null | undefined>> = {
    openId: user.open_id,
    unionId: user.union_id,
    userId: user.user_id,
    email: emailId(user.enterprise_email || user.email || ''),
  };
  const known = Object.entries(told).flatMap(([kind, id]) => (id ? [[kind, id] as const] : []));
  for (const [kind, id] of known)
    if (Object.hasOwn(actor.ids, kind) && actor.ids[kind] !== id)
      throw new Error(`The Feishu directory names another ${kind} than the callback does`);
  return { ...actor, ids: { ...actor.ids, ...Object.fromEntries(known) } };
}

const OPEN_ID = /^ou_[A-Za-z0-9_-]{1,128}$/;

const optionalId = z.string().max(320).nullish();
const directoryAnswer = z.object({
  user: z.object({
    open_id: z.string().min(1).max(256),
    union_id: optionalId,
    user_id: optionalId,
    email: optionalId,
    enterprise_email: optionalId,
    status: z.object({ is_resigned: z.boolean().nullish() }).nullish(),
  }),
});
