import { expect } from 'vitest';

/** The problem in an answer, after checking that it is one, whole and of the right type. */
export function problemOf(response: {
  readonly statusCode: number;
  readonly headers: Record<string, unknown>;
  json(): unknown;
}): Record<string, unknown> & { readonly code: string } {
  expect(response.headers['content-type']).toBe('application/problem+json');
  const problem = response.json() as Record<string, unknown> & { code: string };
  expect(problem).toMatchObject({
    type: `urn:countersign:error:${problem.code}`,
    title: expect.any(String),
    status: response.statusCode,
    detail: expect.any(String),
    code: expect.stringMatching(/^[a-z_]+$/),
    retryable: expect.any(Boolean),
  });
  return problem;
}
