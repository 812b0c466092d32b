import { z } from 'zod';
import { planBody } from '../../agent/plan-body.ts';
import { personSchema } from './confirmation-schema.ts';
import { jsonObject, jsonValue, time, uuid } from './field.ts';

const failure = z.object({ code: z.string(), message: z.string() });

/** A run as the API shows it. */
export const runSchema = z
  .object({
    id: uuid,
    agent: z.string(),
    executor: z.enum(['react', 'dag']),
    status: z.enum(['running', 'waiting', 'succeeded', 'failed', 'cancelled']),
    input: z.string(),
    output: z.string().nullable(),
    error: failure.nullable(),
    session: z.string(),
    requester: personSchema.nullable(),
    parentRun: uuid.nullable(),
    plan: planBody.nullable().meta({ description: 'As given, or as the model planned it; null: none.' }),
    childRuns: z.array(uuid),
    evaluation: z.boolean(),
    invocations: z.array(
      z.object({
        id: uuid,
        callId: z.string().nullable(),
        node: z.string().nullable(),
        tool: z.string(),
        args: jsonObject,
        confirmation: uuid.nullable(),
        status: z.enum([
          'waiting',
          'blocked',
          'skipped',
          'stubbed',
          'running',
          'succeeded',
          'failed',
          'unknown',
        ]),
        result: jsonValue,
        error: failure.nullable(),
      }),
    ),
    createdAt: time,
    finishedAt: time.nullable(),
  })
  .meta({ description: 'One piece of work by one agent.' });

export type RunJson = z.infer<typeof runSchema>;
