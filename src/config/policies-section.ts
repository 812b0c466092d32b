import { z } from 'zod';
import { REASON_MODES } from '../verdict.ts';
import { duration } from './duration.ts';
import { flag, glob, id, integer, text } from './settings.ts';

/** Cards in the chats can no longer be changed after 14 days (Feishu); a request must be closed before. */
const LONGEST_DECISION = '13d';

const APPROVER = /^(person|group):(.+)$/s;

/** `person:<id>` or `group:<name>`. */
const approver = z.string().transform((value, context) => {
  const [, kind, name] = APPROVER.exec(value) ?? [];
  if (kind !== undefined && name !== undefined) return { kind: kind as 'person' | 'group', name };
  context.addIssue('has to read person:<id> or group:<name>');
  return z.NEVER;
});

const ruleKeys = {
  approvers: z.array(approver).min(1),
  quorum: integer(1, 100).default(1),
  allowSelfApproval: flag.default(false),
  /** Absent: every configured channel. */
  channels: z.array(z.string()).nullable().default(null),
  decideWithin: duration(LONGEST_DECISION).default(15 * 60_000),
  executeWithin: duration('7d').default(10 * 60_000),
  outcomeWithin: duration('30d').default(60 * 60_000),
  deliveryTimeout: duration(LONGEST_DECISION).default(15 * 60_000),
  reason: z.enum(REASON_MODES).default('never'),
};

/** `defaultPolicy`: a policy without `tools` and `when`. */
export const ruleSchema = z.strictObject(ruleKeys);
export type RuleEntry = z.infer<typeof ruleSchema>;

export const policySchema = z.strictObject({
  id: id.refine((value) => value !== 'default', 'is the name of defaultPolicy'),
  tools: z.array(glob).min(1),
  when: text.nullable().default(null),
  ...ruleKeys,
});
export type PolicyEntry = z.infer<typeof policySchema>;
