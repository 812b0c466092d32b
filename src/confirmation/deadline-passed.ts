/** Thrown inside a transaction to roll it back when the deadline came first. Never leaves `src/confirmation`. */
export class DeadlinePassed extends Error {
  constructor(id: string) {
    super(`The deadline of confirmation ${id} came first`);
    this.name = 'DeadlinePassed';
  }
}
