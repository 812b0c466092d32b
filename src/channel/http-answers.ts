import type { HttpAnswer } from './channel.ts';

/** Says that a callback was taken, and nothing else. */
export const ACKNOWLEDGED: HttpAnswer = { status: 200, contentType: 'text/plain; charset=utf-8', body: '' };

export const jsonAnswer = (body: unknown): HttpAnswer => ({
  status: 200,
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(body),
});
