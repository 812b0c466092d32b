import type { ToolTreatment } from '../config/config.ts';
import type { DecisiveField } from '../confirmation/confirmation-request.ts';

/** What a tool's `card` says has to be on every card, in the order in which it stands there. */
export function decisiveFieldsOf({
  amount,
  currency,
  payee,
  decisive,
}: ToolTreatment['card']): DecisiveField[] {
  const fields: DecisiveField[] = [];
  if (amount !== null) fields.push({ role: 'amount', pointer: amount });
  if (currency !== null) fields.push({ role: 'currency', pointer: currency });
  if (payee !== null) fields.push({ role: 'payee', pointer: payee });
  return [...fields, ...decisive.map((pointer) => ({ role: 'other' as const, pointer }))];
}
