import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type ConfirmationId = Branded<'ConfirmationId'>;
export type DeliveryId = Branded<'DeliveryId'>;
export type RunId = Branded<'RunId'>;
export type InvocationId = Branded<'InvocationId'>;
export type PersonId = Branded<'PersonId'>;
export type AgentId = Branded<'AgentId'>;
export type ChannelId = Branded<'ChannelId'>;
export type ApiKeyId = Branded<'ApiKeyId'>;

/** A new time-ordered id (UUID version 7, RFC 9562). */
export const newConfirmationId = (): ConfirmationId => uuidv7() as ConfirmationId;
/**
 * The id of the one request in which people are asked about this invocation, whoever asks and however often: a UUID of
 * version 8 with the invocation's time in front.
 */
export function confirmationIdOf(invocation: InvocationId): ConfirmationId {
  const tail = createHash('sha256').update(`confirmation of ${invocation}`).digest('hex');
  const time = invocation.slice(0, 13);
  return `${time}-8${tail.slice(0, 3)}-a${tail.slice(3, 6)}-${tail.slice(6, 18)}` as ConfirmationId;
}
export const newDeliveryId = (): DeliveryId => uuidv7() as DeliveryId;
export const newRunId = (): RunId => uuidv7() as RunId;
export const newInvocationId = (): InvocationId => uuidv7() as InvocationId;
export const newEventId = (): string => uuidv7();

// Names that a configuration, an API body or a row has already been checked to hold.
export const personId = (value: string): PersonId => value as PersonId;
export const agentId = (value: string): AgentId => value as AgentId;
export const channelId = (value: string): ChannelId => value as ChannelId;
export const apiKeyId = (value: string): ApiKeyId => value as ApiKeyId;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The id in `text`, or null where it is not one (a button value, a path segment). */
export const parseConfirmationId = (text: string): ConfirmationId | null =>
  UUID.test(text) ? (text as ConfirmationId) : null;
/** A freeze's id, or null where the text is not one. */
export const parseFreezeId = (text: string): string | null => (UUID.test(text) ? text : null);
export const parseRunId = (text: string): RunId | null => (UUID.test(text) ? (text as RunId) : null);
