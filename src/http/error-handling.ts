import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { CountersignError } from '../errors.ts';
import type { HttpApp } from './http-app.ts';
import { loggedFault } from './logged-fault.ts';
import { PROBLEM_MEDIA_TYPE, type Problem, problemOfFault, toProblem } from './problem.ts';
import { chineseRefusal } from './refusal-language.ts';

/** Answers every error, ours, the framework's and the unexpected, as a problem. */
export function installErrorHandling(app: HttpApp): void {
  app.setErrorHandler((error, request, reply) => {
    const known = toCountersignError(error);
    if (!known)
      request.log.error({ fault: loggedFault(error), route: request.routeOptions.url }, 'request failed');
    return sendProblem(reply, known ?? problemOfFault(error));
  });
  app.setNotFoundHandler((_request, reply) =>
    sendProblem(reply, new CountersignError('not_found', 'There is nothing at this address.')),
  );
}

export function sendProblem(reply: FastifyReply, error: CountersignError): FastifyReply {
  const problem = inTheirLanguage(reply, toProblem(error));
  // As bytes: to a string the framework would add a `charset`, which this media type does not have.
  const body = Buffer.from(JSON.stringify(problem));
  return reply.code(problem.status).header('content-type', PROBLEM_MEDIA_TYPE).send(body);
}

/** People are told in the language that they ask for; nothing but the sentence differs. */
function inTheirLanguage(reply: FastifyReply, problem: Problem): Problem {
  const { principal, headers } = reply.request;
  const isPerson = (principal as typeof principal | undefined)?.type === 'person';
  const detail = isPerson ? chineseRefusal(problem, headers['accept-language']) : null;
  if (detail === null) return problem;
  reply.header('content-language', 'zh-CN').header('vary', 'accept-language');
  return { ...problem, detail };
}

/** For what is not HTTP at all, or too slow to be: there is no request to answer, only the socket. */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const body = JSON.stringify(
    toProblem(new CountersignError('invalid_request', 'The request is not well-formed HTTP.')),
  );
  if (socket.writable) {
    socket.write(
      `HTTP/1.1 400 Bad Request\r\ncontent-type: ${PROBLEM_MEDIA_TYPE}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    );
  }
  socket.destroySoon();
}

/** The error as it is answered; null: nothing we foresaw. */
export function toCountersignError(error: unknown): CountersignError | null {
  if (error instanceof CountersignError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) {
    const errors = error.validation.map(({ instancePath, message }) => ({
      path: instancePath,
      message: message ?? 'is wrong',
    }));
    const [first] = errors;
    const where = `${error.validationContext ?? 'request'}${first && first.path !== '/' ? first.path : ''}`;
    return new CountersignError('invalid_request', `${where}: ${first?.message ?? 'is wrong'}`, { errors });
  }
  return isFrameworkError(error) ? ofFramework(error) : null;
}

interface FrameworkError {
  readonly statusCode: number;
  readonly code?: unknown;
  readonly message: string;
}

const isFrameworkError = (error: unknown): error is FrameworkError =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number';

function ofFramework({ statusCode, message }: FrameworkError): CountersignError | null {
  switch (statusCode) {
    case 404:
      return new CountersignError('not_found', 'There is nothing at this address.');
    case 413:
      return new CountersignError('body_too_large', 'The body is over 1 MiB.');
    case 415:
      return new CountersignError('unsupported_media_type', 'The body must be `application/json` in UTF-8.');
    case 429:
      return new CountersignError('too_many_requests', message);
    default:
      return statusCode >= 400 && statusCode < 500 ? new CountersignError('invalid_request', message) : null;
  }
}
