import { z } from 'zod';
import type { SendOutcome } from '../../src/channel/channel.ts';
import type { SlackClient, SlackResult } from './client.ts';
import { SLACK_ID } from './config.ts';

export type OpenedChat =
  | { readonly kind: 'opened'; readonly chat: string }
  | Extract<SendOutcome, { kind: 'retry' | 'refused' }>;

/**
 * The direct message between the app and one person, opened where there was none (`conversations.open`, scope
 * `im:write`; the same one however often it is asked for). A person who is configured by their address alone is looked
 * up first (`users.lookupByEmail`, scope `users:read.email`).
 */
export async function openDirectMessage(input: {
  readonly ids: Readonly<Record<string, string>>;
  readonly client: SlackClient;
  readonly signal: AbortSignal;
}): Promise<OpenedChat> {
  const { ids, client, signal } = input;
  const found = ids.user === undefined ? await lookUp(ids.email, client, signal) : ids.user;
  if (typeof found !== 'string') return found;
  const result = await client.call({ method: 'conversations.open', args: { users: found }, signal });
  if (result.kind !== 'ok') return notOpened(result);
  const { data } = openedDirect.safeParse(result.data);
  return data
    ? { kind: 'opened', chat: data.channel.id }
    : { kind: 'retry', error: 'conversations.open: answered without a readable id', retryAfterMs: null };
}

async function lookUp(
  email: string | undefined,
  client: SlackClient,
  signal: AbortSignal,
): Promise<string | Exclude<OpenedChat, { kind: 'opened' }>> {
  if (email === undefined) return { kind: 'refused', error: 'no user id or address of this person is known' };
  const result = await client.call({ method: 'users.lookupByEmail', args: { email }, signal });
  if (result.kind !== 'ok') return notOpened(result);
  const { data } = foundUser.safeParse(result.data);
  return (
    data?.user.id ?? {
      kind: 'retry',
      error: 'users.lookupByEmail: answered without a readable id',
      retryAfterMs: null,
    }
  );
}

/** Nothing was posted, whatever became of the call. */
function notOpened(result: Exclude<SlackResult, { kind: 'ok' }>): Exclude<OpenedChat, { kind: 'opened' }> {
  if (result.kind === 'refused') return { kind: 'refused', error: result.error };
  return {
    kind: 'retry',
    error: result.error,
    retryAfterMs: result.kind === 'not-done' ? result.retryAfterMs : null,
  };
}

const openedDirect = z.object({ channel: z.object({ id: z.string().regex(SLACK_ID.channel) }) });
const foundUser = z.object({ user: z.object({ id: z.string().regex(SLACK_ID.user) }) });
