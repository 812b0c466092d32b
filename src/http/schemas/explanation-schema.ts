import { z } from 'zod';
import { OBSTACLES } from '../../confirmation/explanation.ts';
import { frozenPolicy } from '../../confirmation/frozen-policy.ts';
import { TRIAL_OUTCOMES } from '../../confirmation/policy-trial.ts';
import { CONFIRMATION_STATUSES, personSchema } from './confirmation-schema.ts';

const obstacles = z.array(z.enum(OBSTACLES));

/** Why a request was made under its rule, and who could approve it. */
export const explanationSchema = z
  .object({
    call: z.object({
      tool: z.string(),
      agent: z.string(),
      requester: personSchema.nullable(),
      agentOwner: z.string().nullable(),
      flagged: z
        .boolean()
        .nullable()
        .meta({ description: 'A confirmation is required whatever policies say.' }),
      argsDigest: z.string().nullable(),
      verificationCode: z.string().nullable(),
    }),
    answer: z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('asked'), policy: z.string(), status: z.enum(CONFIRMATION_STATUSES) }),
      z.object({ kind: z.literal('allowed') }),
      z.object({ kind: z.literal('denied'), message: z.string(), argument: z.string().nullable() }),
    ]),
    trials: z
      .array(
        z.object({
          policy: z.string(),
          tools: z.array(z.string()),
          when: z.string().nullable(),
          outcome: z.enum(TRIAL_OUTCOMES),
          reads: z.array(z.string()),
          stricter: z.string().nullable(),
          message: z.string().nullable(),
        }),
      )
      .nullable()
      .meta({
        description: 'The rules in the order in which they were tried; null for a request older than this.',
      }),
    configRevision: z.string(),
    rule: z
      .object(frozenPolicy.shape)
      .omit({ escalation: true })
      .nullable()
      .meta({ description: 'The rule as it was frozen into the request.' }),
    people: z.array(
      z.object({
        person: personSchema,
        through: z.array(z.string()),
        mayApprove: z.boolean(),
        obstacles,
        away: z
          .object({
            from: z.string().nullable(),
            until: z.string().nullable(),
            delegate: z.object({ person: personSchema, isSeated: z.boolean(), obstacles }).nullable(),
          })
          .nullable(),
      }),
    ),
    quorum: z
      .object({
        needed: z.int(),
        given: z.int(),
        missing: z.int(),
        approvedBy: z.array(z.object({ person: personSchema, seat: personSchema })),
      })
      .nullable(),
    now: z
      .object({
        freezes: z.array(
          z.object({
            id: z.string(),
            tools: z.array(z.string()),
            reason: z.string(),
            startedAt: z.string(),
            startedBy: personSchema,
            holdsRequest: z.boolean(),
          }),
        ),
        readOnly: z.enum(['organization', 'connector']).nullable(),
        toolChanged: z.boolean(),
        coolingOffUntil: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'What stops the call at this moment beside the rule.' }),
  })
  .meta({ description: 'Which rules were tried and why each matched or not; who could approve, and why.' });
