import { KEYS } from './platforms.ts';

export interface ConfirmationJson {
  readonly id: string;
  readonly status: string;
  readonly args: Record<string, unknown>;
  readonly argsDigest: string;
  readonly verificationCode: string;
  readonly execution: { readonly status: string };
  readonly deliveries: readonly {
    readonly channel: string;
    readonly state: string;
    readonly messageIds: readonly string[];
    readonly person?: { readonly id: string } | null;
  }[];
  readonly votes?: readonly { readonly person: { readonly id: string } }[];
}

/** Calls the service as a client would, with one of the keys. */
export async function call<T>(
  base: string,
  method: string,
  path: string,
  options: { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<{ readonly status: number; readonly body: T }> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${options.key ?? KEYS.agent}`,
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
}

export const PAYMENT = { amount: '68000.00', currency: 'CNY', payee: 'Acme Paper' };

/** Asks for a payment and gives the pending confirmation. */
export async function ask(base: string, tool = 'bank__transfer'): Promise<ConfirmationJson> {
  const { status, body } = await call<{ decision: string; confirmation: ConfirmationJson }>(
    base,
    'POST',
    '/v1/confirmations',
    { body: { tool, args: PAYMENT, agent: 'procurement', requester: 'zhao.min' } },
  );
  if (status !== 201 || body.decision !== 'pending') {
    throw new Error(`Expected a pending confirmation, got ${status} ${JSON.stringify(body)}`);
  }
  return body.confirmation;
}

export const read = async (base: string, id: string, key: string = KEYS.auditor): Promise<ConfirmationJson> =>
  (await call<ConfirmationJson>(base, 'GET', `/v1/confirmations/${id}`, { key })).body;
