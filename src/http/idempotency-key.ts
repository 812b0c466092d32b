import type { FastifyRequest } from 'fastify';
import { CountersignError } from '../errors.ts';
import { singleHeader } from './single-header.ts';

const WELL_FORMED = /^[\x21-\x7e]{1,255}$/;

/** The `Idempotency-Key` header, or null where none was sent. Throws `invalid_request` for one that cannot be a key. */
export function idempotencyKeyOf(request: FastifyRequest): string | null {
  const header = singleHeader(request, 'idempotency-key');
  if (header.kind === 'absent') return null;
  if (header.kind === 'value' && WELL_FORMED.test(header.value)) return header.value;
  throw new CountersignError(
    'invalid_request',
    'Send one Idempotency-Key of 1 to 255 visible ASCII characters, or none.',
  );
}
