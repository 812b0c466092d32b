import { z } from 'zod';
import { NOTIFY_MODES } from '../channel/notify-mode.ts';
import { REASON_MODES } from '../verdict.ts';
import { duration } from './duration.ts';
import { flag, glob, id, integer, text } from './settings.ts';

/** A card is re-issued a day before Feishu stops taking taps on it, after 14; a request must be closed before. */
const LONGEST_DECISION = '13d';

export const DECIDE_WITHIN_MS = 15 * 60_000;
export const EXECUTE_WITHIN_MS = 10 * 60_000;

const APPROVER = /^(person|group):(.+)$/s;

/** `person:<id>` or `group:<name>`. */
const approver = z.string().transform((value, context) => {
  const [, kind, name] = APPROVER.exec(value) ?? [];
  if (kind !== undefined && name !== undefined) return { kind: kind as 'person' | 'group', name };
  context.addIssue('has to read person:<id> or group:<name>');
  return z.NEVER;
});

const people = z.array(approver).min(1);
export type NamedPeople = z.infer<typeof people>;

const ruleKeys = {
  approvers: people,
  quorum: integer(1, 100).default(1),
  allowSelfApproval: flag.default(false),
  /** Absent: every configured channel. */
  channels: z.array(z.string()).nullable().default(null),
  notify: z.enum(NOTIFY_MODES).default('group'),
  /** Channels that are asked where nobody could be reached in those above. */
  fallback: z.array(z.string()).min(1, 'is empty: leave it out').nullable().default(null),
  fallbackAfter: duration(LONGEST_DECISION).nullable().default(null),
  decideWithin: duration(LONGEST_DECISION).default(DECIDE_WITHIN_MS),
  executeWithin: duration('7d').default(EXECUTE_WITHIN_MS),
  outcomeWithin: duration('30d').default(60 * 60_000),
  deliveryTimeout: duration(LONGEST_DECISION).default(15 * 60_000),
  reason: z.enum(REASON_MODES).default('never'),
  remindAfter: duration(LONGEST_DECISION).nullable().default(null),
  escalateAfter: z
    .strictObject({ after: duration(LONGEST_DECISION), to: people })
    .nullable()
    .default(null),
  coolOff: duration('6d', { orNothing: true }).default(0),
  excluded: text.nullable().default(null),
};

/** `defaultPolicy`: a policy without `tools` and `when`. */
export const ruleSchema = z.strictObject(ruleKeys);
export type RuleEntry = z.infer<typeof ruleSchema>;

export const policySchema = z.strictObject({
  id: id
    .refine((value) => value !== 'default', 'is the name of defaultPolicy: choose another')
    .refine((value) => value !== 'floor', 'is the name of the floor: choose another'),
  tools: z.array(glob).min(1),
  when: text.nullable().default(null),
  ...ruleKeys,
});
export type PolicyEntry = z.infer<typeof policySchema>;

/** `floor`: a policy without an id. What is not stated of the times leaves other policies their own. */
export const floorSchema = z.strictObject({
  ...ruleKeys,
  tools: z.array(glob).min(1).default(['*']),
  when: text.nullable().default(null),
  decideWithin: duration(LONGEST_DECISION).nullable().default(null),
  executeWithin: duration('7d').nullable().default(null),
});
export type FloorEntry = z.infer<typeof floorSchema>;
