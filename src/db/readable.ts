import { UnreadableConfirmation } from '../confirmation/unreadable-confirmation.ts';

/** Reads each by itself, so that a row that cannot be read is missing alone. Any other fault is thrown. */
export function readable<Row, Read>(
  rows: Iterable<Row>,
  read: (row: Row) => Read,
): { readonly read: readonly Read[]; readonly unreadable: readonly UnreadableConfirmation[] } {
  const found: Read[] = [];
  const unreadable: UnreadableConfirmation[] = [];
  for (const row of rows) {
    try {
      found.push(read(row));
    } catch (error) {
      if (!(error instanceof UnreadableConfirmation)) throw error;
      unreadable.push(error);
    }
  }
  return { read: found, unreadable };
}
