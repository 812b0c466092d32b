import { z } from 'zod';
import { planBody, planNodes } from '../../agent/plan-body.ts';
import type { RunService, StartRun } from '../../agent/run-service.ts';
import type { PersonDirectory } from '../../confirmation/person-directory.ts';
import { CountersignError } from '../../errors.ts';
import { agentId } from '../../ids.ts';
import { ACCESS, hasRole } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { HttpApp } from '../http-app.ts';
import type { OpenRequests } from '../open-requests.ts';
import { notFound } from '../outcome-errors.ts';
import type { Principal } from '../principal.ts';
import { checkedAgent, checkedRequester } from '../request-checks.ts';
import type { FindRun } from '../run-access.ts';
import { runJson } from '../run-json.ts';
import { idParams, name } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';
import { runSchema } from '../schemas/run-schema.ts';
import { waitParameter } from '../wait-parameter.ts';

const startBody = z.strictObject({
  agent: name,
  input: z.string().default(''),
  session: name.nullish(),
  requester: name.nullish().meta({ description: "A person's id; left out: the agent's owner." }),
  evaluation: z.boolean().default(false),
  plan: planBody.nullish(),
});

/** `POST /v1/runs`, `GET /v1/runs/{id}` and `POST /v1/runs/{id}/cancel`. */
export function runRoutes(
  app: HttpApp,
  ports: {
    readonly runs: RunService;
    readonly people: PersonDirectory;
    readonly findRun: FindRun;
    readonly openRequests: OpenRequests;
  },
): void {
  app.post(
    '/runs',
    {
      config: { access: ACCESS.startRun },
      schema: {
        summary: 'Start an agent, or a plan as given',
        tags: ['runs'],
        body: startBody,
        response: {
          202: z.object({ run: runSchema }),
          ...problems(
            ...BODY_PROBLEMS,
            'agent_not_allowed',
            'requester_not_allowed',
            'unknown_agent',
            'unknown_requester',
            'unknown_tool',
            'invalid_plan',
          ),
        },
      },
    },
    async (request, reply) => {
      const { agent, input, session, requester, evaluation, plan } = request.body;
      if (input === '' && !plan)
        throw new CountersignError('invalid_request', 'body/input: must not be empty');
      const run = await ports.runs.start({
        agent: agentId(agent),
        input,
        session: session ?? null,
        evaluation,
        plan: plan ? planNodes(plan) : null,
        ...startedBy(principalOf(request), agent, requester ?? null, ports.people),
      });
      reply.header('location', `/v1/runs/${run.id}`);
      return reply.code(202).send({ run: runJson(run) });
    },
  );

  app.get(
    '/runs/:id',
    {
      config: { access: ACCESS.readRun },
      schema: {
        summary: 'One run; with `wait`, held until it is finished',
        tags: ['runs'],
        params: idParams,
        querystring: z.strictObject({
          wait: waitParameter.optional(),
          until: z.enum(['finished', 'waiting']).default('finished').meta({
            description: '`waiting`: the answer also comes when the run waits for a person.',
          }),
        }),
        response: { 200: runSchema, ...problems('not_found') },
      },
    },
    async (request, reply) => {
      const found = await ports.findRun(request, request.params.id);
      const timeoutMs = request.query.wait ?? 0;
      if (timeoutMs === 0 || found.finishedAt !== null) return runJson(found);
      const waited = await ports.runs.wait({
        id: found.id,
        timeoutMs,
        untilWaiting: request.query.until === 'waiting',
        signal: ports.openRequests.signalOf(reply),
      });
      if (!waited) throw notFound('run');
      return runJson(waited);
    },
  );

  app.post(
    '/runs/:id/cancel',
    {
      config: { access: ACCESS.cancelRun },
      schema: {
        summary: 'Stop a run and cancel its open requests',
        tags: ['runs'],
        params: idParams,
        body: z.strictObject({}).nullish(),
        response: { 200: runSchema, ...problems(...BODY_PROBLEMS, 'not_found') },
      },
    },
    async (request) => {
      const principal = principalOf(request);
      const found = await ports.findRun(request, request.params.id);
      if (
        principal.type === 'person' &&
        found.requester?.id !== principal.person.id &&
        !hasRole(principal, ['operator', 'admin'])
      ) {
        throw new CountersignError('forbidden', 'Only the requester or an operator stops a run.');
      }
      const cancelled = await ports.runs.cancel(found.id);
      if (!cancelled) throw notFound('run');
      return runJson(cancelled);
    },
  );
}

/**
 * For whom the run acts. A person starts runs for themselves and nobody else: were the agent's owner the requester,
 * they could approve what they started.
 */
function startedBy(
  principal: Principal,
  agent: string,
  requester: string | null,
  people: PersonDirectory,
): Pick<StartRun, 'requester' | 'requesterNamedByAgent' | 'apiKeyId'> {
  if (principal.type === 'person') {
    const { id } = principal.person;
    if (requester !== null && requester !== id) {
      throw new CountersignError('requester_not_allowed', 'A person starts runs for themselves only.');
    }
    return { requester: id, requesterNamedByAgent: false, apiKeyId: null };
  }
  checkedAgent(principal, agent);
  return {
    requester: checkedRequester(principal, requester, people),
    requesterNamedByAgent: requester !== null,
    apiKeyId: principal.id,
  };
}
