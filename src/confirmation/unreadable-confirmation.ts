import type { ConfirmationId } from '../ids.ts';

const LONGEST_REASON = 300;

/**
 * A request whose row this code cannot read: damaged, or written by newer code. Whoever needs that request gets this
 * and goes no further; whoever reads many leaves it out and says so.
 */
export class UnreadableConfirmation extends Error {
  readonly id: ConfirmationId;

  /** `found` goes into the message: of a chain of causes the log keeps the innermost, which knows no id. */
  constructor(id: ConfirmationId, found: unknown) {
    const reason = (found instanceof Error ? found.message : String(found)).replaceAll(/\s+/g, ' ');
    super(
      `The row of confirmation ${id} cannot be read: it is damaged, or a newer version wrote it (${reason.slice(0, LONGEST_REASON)})`,
    );
    this.name = 'UnreadableConfirmation';
    this.id = id;
  }
}
