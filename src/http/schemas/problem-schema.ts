import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../errors.ts';
import { HTTP_STATUS, PROBLEM_MEDIA_TYPE } from '../problem.ts';

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    retryable: z.boolean(),
  })
  .meta({ description: 'RFC 9457 problem details with a stable `code`.' });

/** What any authenticated route may answer, whatever it does. */
const ALWAYS: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'inactive_person',
  'invalid_request',
  'too_many_requests',
  'internal',
  'unavailable',
];

/** What reading a body may answer beside that. */
export const BODY_PROBLEMS: readonly ErrorCode[] = [
  'invalid_json',
  'invalid_arguments',
  'body_too_large',
  'unsupported_media_type',
];

/** The error answers of a route for the API description: one entry a status, with the codes it may carry. */
export function problems(...codes: readonly ErrorCode[]): Record<number, ProblemResponse> {
  const byStatus = new Map<number, Set<ErrorCode>>();
  for (const code of [...ALWAYS, ...codes]) {
    const status = HTTP_STATUS[code];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...byStatus].map(([status, of]) => [
      status,
      {
        description: [...of].map((code) => `\`${code}\``).join(', '),
        content: { [PROBLEM_MEDIA_TYPE]: { schema: problemSchema } },
      },
    ]),
  );
}

interface ProblemResponse {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: typeof problemSchema }>>;
}
