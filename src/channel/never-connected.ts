/**
 * True only where the failure of a call is one of connecting (or of the handshake that comes before the request): then
 * nothing of the request was written, and nothing can have been done. `error` is what `fetch` or axios threw; either
 * keeps the fault below it in `cause`.
 */
export function neverConnected(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  // A name with several addresses: each was tried.
  const faults = cause instanceof AggregateError && cause.errors.length > 0 ? cause.errors : [cause];
  return faults.every(isConnectFault);
}

/** The code of the fault below `error`, for a log; never its message, which may hold the address or more. */
export function faultName(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return textOf(error.cause, 'code') || error.name;
}

function isConnectFault(cause: unknown): boolean {
  const code = textOf(cause, 'code');
  const syscall = textOf(cause, 'syscall');
  return (
    syscall === 'connect' ||
    syscall === 'getaddrinfo' ||
    code === 'UND_ERR_CONNECT_TIMEOUT' ||
    /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code)
  );
}

function textOf(fault: unknown, key: 'code' | 'syscall'): string {
  if (typeof fault !== 'object' || fault === null || !(key in fault)) return '';
  const value: unknown = (fault as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' ? value : '';
}
