export interface LoggedFault {
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  readonly stack: string | null;
}

/**
 * What the log gets of a throw: its innermost cause, by these fields alone. A failed query carries its parameters in
 * its message, and a database error carries values of the row, and those are not the log's to keep.
 */
export function loggedFault(fault: unknown): LoggedFault {
  let innermost = fault;
  for (
    let depth = 0;
    innermost instanceof Error && innermost.cause instanceof Error && depth < 8;
    depth += 1
  ) {
    innermost = innermost.cause;
  }
  if (!(innermost instanceof Error))
    return { type: typeof innermost, code: null, message: 'not an Error', stack: null };
  return {
    type: innermost.name,
    code: 'code' in innermost && typeof innermost.code === 'string' ? innermost.code : null,
    message: innermost.message,
    stack: innermost.stack ?? null,
  };
}
