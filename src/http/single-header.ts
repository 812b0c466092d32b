import type { FastifyRequest } from 'fastify';

/**
 * A header that may be sent once. Node keeps the first of a doubled `authorization` and joins other names with
 * commas, so that a proxy and we could read two different values: twice is told apart from once, on the raw list.
 */
export function singleHeader(
  request: FastifyRequest,
  name: string,
):
  | { readonly kind: 'absent' }
  | { readonly kind: 'doubled' }
  | { readonly kind: 'value'; readonly value: string } {
  const values: string[] = [];
  const raw = request.raw.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() === name) values.push(raw[index + 1] ?? '');
  }
  if (values.length > 1) return { kind: 'doubled' };
  const [value] = values;
  return value === undefined ? { kind: 'absent' } : { kind: 'value', value };
}
