import type { ConfirmationId } from '../ids.ts';

/**
 * A request whose row this code cannot read: damaged, or written by newer code. Whoever needs that request gets this
 * and goes no further; whoever reads many leaves it out and says so.
 */
export class UnreadableConfirmation extends Error {
  readonly id: ConfirmationId;

  constructor(id: ConfirmationId, cause: unknown) {
    super(`The row of confirmation ${id} cannot be read: it is damaged, or a newer version wrote it.`, {
      cause,
    });
    this.name = 'UnreadableConfirmation';
    this.id = id;
  }
}
