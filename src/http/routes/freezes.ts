import { z } from 'zod';
import type { PersonRole } from '../../config/config.ts';
import type { PersonRef } from '../../confirmation/confirmation-request.ts';
import type { Freeze, Freezes } from '../../confirmation/freeze.ts';
import type { RefusalRecorder } from '../../confirmation/refused-attempt.ts';
import { CountersignError } from '../../errors.ts';
import { parseFreezeId } from '../../ids.ts';
import { ACCESS } from '../access.ts';
import { principalOf } from '../authentication.ts';
import type { HttpApp } from '../http-app.ts';
import { notFound } from '../outcome-errors.ts';
import type { Principal } from '../principal.ts';
import { recordingRefusals } from '../refused-act.ts';
import { personSchema } from '../schemas/confirmation-schema.ts';
import { idParams, name, pageSize, sentence, time, uuid } from '../schemas/field.ts';
import { BODY_PROBLEMS, problems } from '../schemas/problem-schema.ts';

const MAY_FREEZE: readonly PersonRole[] = ACCESS.freeze.people;

const act = z.object({ at: time, by: personSchema });

const freezeSchema = z.object({
  id: uuid,
  tools: z.array(z.string()).meta({ description: 'Globs over full tool names.' }),
  reason: z.string(),
  startedAt: time,
  startedBy: personSchema,
  endRequested: act.nullable().meta({ description: 'The first of the two people who end it.' }),
  ended: act.nullable(),
});

/** `/v1/freezes`: one person stops all claims of some tools; two people let them run again. */
export function freezeRoutes(
  app: HttpApp,
  ports: {
    readonly freezes: Freezes;
    readonly refusals: RefusalRecorder;
    /** Whether any tool can have a name that the glob matches. */
    readonly matchesTools: (glob: string) => boolean;
    /** Roles of a person as they stand now; none for one who is inactive. */
    readonly rolesOf: (person: string) => readonly PersonRole[];
  },
): void {
  app.post(
    '/freezes',
    {
      config: { access: ACCESS.freeze },
      errorHandler: recordingRefusals('freeze', { ...ports, confirmations: null }),
      schema: {
        summary: 'Freeze tools: nothing that matches is claimed until two people end it',
        tags: ['operations'],
        body: z.strictObject({
          tools: z.array(name).min(1).max(50).meta({ description: 'Globs; `*` alone is everything.' }),
          reason: sentence.min(1),
        }),
        response: { 201: freezeSchema, ...problems(...BODY_PROBLEMS) },
      },
    },
    async (request, reply) => {
      const { tools, reason } = request.body;
      const stray = tools.find((glob) => !ports.matchesTools(glob));
      if (stray !== undefined) {
        // A freeze that stops nothing would let an operator believe that something is stopped.
        throw new CountersignError(
          'invalid_request',
          `tools: no tool matches "${stray}"; mend it, or freeze everything with "*"`,
        );
      }
      const why = reason.trim();
      if (why === '') throw new CountersignError('invalid_request', 'reason: must say why');
      const by = personOf(principalOf(request));
      const freeze = await ports.freezes.start({ tools: [...new Set(tools)], reason: why, by });
      return reply.code(201).send(freezeJson(freeze));
    },
  );

  app.get(
    '/freezes',
    {
      config: { access: ACCESS.readFreezes },
      schema: {
        summary: 'Freezes, the newest first',
        tags: ['operations'],
        querystring: z.strictObject({
          active: z.enum(['true', 'false']).optional(),
          limit: pageSize,
          cursor: uuid.optional(),
        }),
        response: {
          200: z.object({ items: z.array(freezeSchema), nextCursor: z.string().nullable() }),
          ...problems(),
        },
      },
    },
    async (request) => {
      const { active, limit, cursor } = request.query;
      const before = cursor === undefined ? null : parseFreezeId(cursor);
      if (cursor !== undefined && before === null) {
        throw new CountersignError('invalid_request', 'The cursor is not one that this service gave out.');
      }
      const found = await ports.freezes.list({
        active: active === undefined ? null : active === 'true',
        limit: limit + 1,
        before,
      });
      const items = found.slice(0, limit);
      return {
        items: items.map(freezeJson),
        nextCursor: found.length > limit ? (items.at(-1)?.id ?? null) : null,
      };
    },
  );

  app.delete(
    '/freezes/:id',
    {
      config: { access: ACCESS.freeze },
      errorHandler: recordingRefusals('unfreeze', { ...ports, confirmations: null }),
      schema: {
        summary: 'Ask for the end of a freeze; the second person to ask ends it',
        description: '202: asked for, and another person has to ask too. 200: it has ended.',
        tags: ['operations'],
        params: idParams,
        response: { 200: freezeSchema, 202: freezeSchema, ...problems('not_found') },
      },
    },
    async (request, reply) => {
      const id = parseFreezeId(request.params.id);
      if (id === null) throw notFound('freeze');
      const outcome = await ports.freezes.end({
        id,
        by: personOf(principalOf(request)),
        mayStill: (person) => ports.rolesOf(person).some((role) => MAY_FREEZE.includes(role)),
      });
      if (outcome.kind === 'not-found') throw notFound('freeze');
      return reply.code(outcome.kind === 'ended' ? 200 : 202).send(freezeJson(outcome.freeze));
    },
  );
}

const freezeJson = ({ tools, startedAt, startedBy, endRequested, ended, ...freeze }: Freeze) => ({
  ...freeze,
  tools: [...tools],
  startedAt: startedAt.toISOString(),
  startedBy: personJson(startedBy),
  endRequested: actJson(endRequested),
  ended: actJson(ended),
});

const actJson = (done: Freeze['ended']) => done && { at: done.at.toISOString(), by: personJson(done.by) };

const personJson = ({ id, name: shown }: PersonRef) => ({ id, name: shown });

function personOf(principal: Principal): PersonRef {
  if (principal.type !== 'person') throw new CountersignError('forbidden', 'Only people do this.');
  return principal.person;
}
