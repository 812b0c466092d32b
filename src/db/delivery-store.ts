import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { ChannelAddress } from '../channel/channel.ts';
import { type ChannelId, type ConfirmationId, newDeliveryId } from '../ids.ts';
import type { Connection } from './database.ts';

/** Queues one delivery a channel, with an opaque token of 128 bits for its buttons. */
export async function insertDeliveries(
  connection: Connection,
  input: {
    readonly confirmationId: ConfirmationId;
    readonly addresses: readonly (ChannelAddress & { readonly channelId: ChannelId })[];
    readonly now: Date;
  },
): Promise<void> {
  for (const address of input.addresses) {
    const token = randomBytes(16).toString('base64url');
    const now = input.now.toISOString();
    await connection.execute(sql`
      insert into deliveries
        (id, confirmation_id, channel_id, provider, app, tenant, chat, token, next_attempt_at, at, created_at)
      values
        (${newDeliveryId()}, ${input.confirmationId}, ${address.channelId}, ${address.provider}, ${address.app},
         ${address.tenant}, ${address.chat}, ${token}, ${now}, ${now}, ${now})`);
  }
}

/** Asks for the request's cards to show this version. */
export async function wantVersion(
  connection: Connection,
  id: ConfirmationId,
  version: number,
): Promise<void> {
  await connection.execute(sql`
    update deliveries set wanted_version = ${version}, next_attempt_at = clock_timestamp()
    where confirmation_id = ${id} and wanted_version < ${version}`);
}
