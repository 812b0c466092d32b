import { eq } from 'drizzle-orm';
import { type FrozenExplanation, frozenExplanation } from '../confirmation/frozen-explanation.ts';
import type { ConfirmationId } from '../ids.ts';
import type { Connection } from './database.ts';
import { explanations } from './schema/confirmations.ts';
import { storableJson } from './storable-json.ts';

/** Keeps how the rule of a request was found, in the transaction that stores the request. It is never changed. */
export async function insertExplanation(
  connection: Connection,
  confirmationId: ConfirmationId,
  explanation: FrozenExplanation,
): Promise<void> {
  // Keys of an agent's own making are among the names of what conditions read.
  await connection.insert(explanations).values({ confirmationId, explanation: storableJson(explanation) });
}

export async function readExplanation(
  connection: Connection,
  id: ConfirmationId,
): Promise<FrozenExplanation | null> {
  const [row] = await connection.select().from(explanations).where(eq(explanations.confirmationId, id));
  return row === undefined ? null : frozenExplanation.parse(row.explanation);
}
