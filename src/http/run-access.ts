import type { FastifyRequest } from 'fastify';
import type { Run } from '../agent/run.ts';
import type { RunService } from '../agent/run-service.ts';
import { parseRunId } from '../ids.ts';
import { principalOf } from './authentication.ts';
import { notFound } from './outcome-errors.ts';
import type { Visibility } from './visibility.ts';

/** The run that the caller may see. Throws `not_found` for everything else. */
export type FindRun = (request: FastifyRequest, id: string) => Promise<Run>;

export const createFindRun =
  (runs: Pick<RunService, 'get'>, visibility: Visibility): FindRun =>
  async (request, id) => {
    const parsed = parseRunId(id);
    const run = parsed && (await runs.get(parsed));
    if (!run || !(await visibility.ofRun(principalOf(request), run))) throw notFound('run');
    return run;
  };
