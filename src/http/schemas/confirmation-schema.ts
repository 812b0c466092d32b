import { z } from 'zod';
import { LOCALES } from '../../locale.ts';
import { jsonObject, time, uuid } from './field.ts';

export const CONFIRMATION_STATUSES = [
  'pending',
  'approved',
  'rejected',
  'expired',
  'cancelled',
  'undeliverable',
] as const;

export const EXECUTION_STATUSES = [
  'none',
  'unclaimed',
  'claimed',
  'succeeded',
  'failed',
  'unknown',
  'lapsed',
  'revoked',
] as const;

export const personSchema = z.object({ id: z.string(), name: z.string() });

const standsInFor = personSchema
  .optional()
  .meta({ description: 'The absent person whose seat it is; there for delegates only.' });

export const decisionSchema = z.object({
  status: z.enum(CONFIRMATION_STATUSES).exclude(['pending']),
  by: personSchema.nullable().optional().meta({ description: 'Who decided; left out for agent keys.' }),
  at: time,
  reason: z.string().nullable().meta({
    description:
      'What the person who closed it wrote. For agent keys, of an approval: what all who approved wrote, a line each.',
  }),
  code: z.string(),
});

export const executionSchema = z.object({
  status: z.enum(EXECUTION_STATUSES),
  at: time.nullable(),
  detail: z.string().nullable().meta({
    description:
      'Of `revoked`: `tool_changed`, `read_only`, `frozen`, `cancelled`, `revoked` or `superseded`.',
  }),
  executableFrom: time.optional().meta({ description: 'Of `unclaimed`: when the cool-off is over.' }),
  reason: z.string().nullable().optional().meta({ description: 'Of `revoked`: what the person said.' }),
  by: personSchema.nullable().optional().meta({
    description: 'Of `revoked`: who did it; of a settled one: who said so. Left out for agent keys.',
  }),
  settleFrom: time.optional().meta({
    description: 'Of `unknown`: from when a person may settle it; until then the attempt may still send.',
  }),
  runAgain: z
    .object({ reason: z.string(), by: personSchema.optional() })
    .optional()
    .meta({ description: 'Of `unknown`: a person asked to run it again; `supersededBy` is that question.' }),
});

/** A confirmation as the API shows it. Agent keys get neither `approvers` nor `votes`. */
export const confirmationSchema = z
  .object({
    id: uuid,
    status: z.enum(CONFIRMATION_STATUSES),
    tool: z.string(),
    args: jsonObject,
    argsDigest: z
      .string()
      .meta({ description: '`sha256:` + hex over RFC 8785 of args, organization, tool, toolVersion.' }),
    verificationCode: z.string(),
    summary: z.string().nullable(),
    agent: z.string(),
    session: z.string().nullable(),
    callId: z.string().nullable(),
    run: uuid.nullable(),
    invocation: uuid.nullable().meta({
      description: 'Of a call of one of our runs: its invocation, also the Idempotency-Key of the call.',
    }),
    supersedes: uuid.nullable().meta({ description: 'The confirmation whose place this one takes.' }),
    supersededBy: uuid.nullable().meta({ description: 'The confirmation that takes the place of this one.' }),
    follows: z
      .object({
        id: uuid,
        at: time.meta({ description: 'When it was rejected.' }),
        sameArguments: z.boolean().meta({ description: 'It asked about the very same call (`argsDigest`).' }),
        reason: z.string().nullable().optional(),
        by: personSchema.optional(),
      })
      .nullable()
      .meta({
        description:
          'The confirmation of a call of the same tool, in the same run or in the same session of an outside agent, that a person had rejected last when this one was made. `reason` and `by` are left out for who may not see it, `by` for agent keys.',
      }),
    requester: personSchema,
    policy: z.object({ id: z.string(), quorum: z.int() }),
    approvers: z
      .array(personSchema.extend({ for: standsInFor }))
      .optional()
      .meta({ description: 'Who may vote now. Left out for agent keys.' }),
    votes: z
      .array(
        z.object({
          person: personSchema,
          for: standsInFor,
          verdict: z.enum(['approve', 'reject']),
          reason: z.string().nullable(),
          channel: z.string(),
          at: time,
          saw: z
            .object({ digest: z.string(), locale: z.enum(LOCALES), version: z.int(), at: time })
            .optional()
            .meta({
              description:
                'The card that was tapped, as it went out, `locale` being the language of the chat; left out for a vote by the API.',
            }),
        }),
      )
      .optional()
      .meta({ description: 'Left out for agent keys.' }),
    decision: decisionSchema.nullable().meta({ description: 'Null while it is pending.' }),
    createdAt: time,
    decideBy: time,
    decidedAt: time.nullable(),
    executeBy: time.nullable(),
    execution: executionSchema,
    frozen: z.boolean().meta({ description: 'Open, and a freeze keeps it from running now.' }),
    deliveries: z.array(
      z.object({
        channel: z.string(),
        person: personSchema.nullable().optional().meta({
          description: 'Who was written to directly; null for a card in the chat. Left out for agent keys.',
        }),
        state: z.enum(['queued', 'sent', 'uncertain', 'failed']),
        messageIds: z.array(z.string()),
        at: time,
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ description: 'One question to people, and what became of it.' });

export type ConfirmationJson = z.infer<typeof confirmationSchema>;
export type DecisionJson = z.infer<typeof decisionSchema>;
export type ExecutionJson = z.infer<typeof executionSchema>;
