/** A message that certainly did not reach the server: nothing can have come of it. */
export class McpNotSent extends Error {
  constructor(reason: string) {
    super(`nothing was sent: ${reason}`);
    this.name = 'McpNotSent';
  }
}

/** The server answered with a status that says that it did not act on the message. */
export class McpRefused extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`the server answered with status ${status}`);
    this.name = 'McpRefused';
    this.status = status;
  }
}

/** A server that does not keep to the bounds: its connection is given up. */
export class McpMisbehaved extends Error {
  constructor(what: string) {
    super(what);
    this.name = 'McpMisbehaved';
  }
}
