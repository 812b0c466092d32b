import { z } from 'zod';
import { duration } from './duration.ts';
import { flag, glob, id, integer, text } from './settings.ts';

/** A hook as it is declared: its name, the options it was given, and where these stand within the entry. */
const hookEntry = z.unknown().transform((value, context) => {
  if (typeof value === 'string') return { name: value, options: {}, place: [] };
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const [only] = entries;
  if (only !== undefined && entries.length === 1 && !Array.isArray(value))
    return { name: only[0], options: only[1] ?? {}, place: [only[0]] };
  context.addIssue('has to be the name of a hook, or {name: options}');
  return z.NEVER;
});

export const agentSchema = z.strictObject({
  id,
  /** Absent: the agent lives outside and only asks. */
  model: text.nullable().default(null),
  owner: z.string().nullable().default(null),
  executor: z.enum(['react', 'dag']).default('react'),
  instructions: z.string().max(100_000).default(''),
  tools: z.array(glob).default([]),
  delegates: z.array(z.string()).default([]),
  hooks: z.strictObject({ class_hooks: z.array(hookEntry).default([]) }).prefault({}),
  requireConfirmationForAll: flag.default(false),
  limits: z
    .strictObject({
      turns: integer(1, 1_000).default(20),
      toolCalls: integer(1, 100_000).nullable().default(null),
      wallTime: duration('30d').nullable().default(null),
      tokens: integer(1, 999_999_999).nullable().default(null),
    })
    .prefault({})
    .transform(({ wallTime, ...limits }) => ({ ...limits, wallTimeMs: wallTime })),
});
export type AgentEntry = z.infer<typeof agentSchema>;
