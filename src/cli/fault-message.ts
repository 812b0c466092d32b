/**
 * What a command prints of a throw: the innermost cause. `fetch` and failed queries keep what happened there, and say
 * themselves only that something did.
 */
export function faultMessage(fault: unknown): string {
  let innermost = fault;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return String(innermost);
  // Several addresses of one host that all refused: the message is empty, and the code is not.
  return innermost.message || codeOf(innermost) || innermost.name;
}

const codeOf = (error: Error): string =>
  'code' in error && typeof error.code === 'string' ? error.code : '';
