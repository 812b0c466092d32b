import type { Verdict } from '../../../src/verdict.ts';
import type { ChatId } from './chat.ts';
import { oneOf } from './people.ts';

/** Which chats a tool's cards go to, by its policy; half of the traffic to each pair of chats. */
export const TOOLS = {
  bank__transfer: ['slack-socket', 'feishu-socket'],
  bank__refund: ['slack-hooks', 'feishu-hooks'],
  bank__double: ['slack-socket', 'feishu-hooks'],
  bank__brief: ['slack-hooks', 'feishu-socket'],
} as const satisfies Readonly<Record<string, readonly [ChatId, ChatId]>>;
export type Tool = keyof typeof TOOLS;

export interface ScriptedVote {
  readonly person: number;
  readonly chat: ChatId;
  readonly verdict: Verdict;
}

/** The story of one request: who asks, who taps what, and how it has to end. */
export interface Script {
  readonly number: number;
  readonly tool: Tool;
  /** On whose behalf it is asked. */
  readonly requester: number;
  /** Taps approve before everybody else, and may not. */
  readonly intruder: Omit<ScriptedVote, 'verdict'> | null;
  /** Cast one after another, or all at once where they contest it. */
  readonly votes: readonly ScriptedVote[];
  readonly contested: boolean;
  readonly cancelled: boolean;
  /** Any of these is right. */
  readonly ends: readonly ('approved' | 'rejected' | 'expired' | 'cancelled')[];
  /** What the agent reports after it has claimed an approval; null: it does not claim. */
  readonly outcome: 'succeeded' | 'failed' | null;
}

/** Of twenty requests nine are approved by one person, four rejected, three need two people, two expire, and so on. */
export function scriptOf(number: number): Script {
  const place = number % 20;
  const [requester, approver, second] = [
    oneOf(number % 3 === 0 ? 'asking approver' : 'bystander', number),
    oneOf('approver', number),
    oneOf('approver', number + 7),
  ];
  const tool = toolOf(number, place);
  const [first, other] = number % 4 < 2 ? TOOLS[tool] : [TOOLS[tool][1], TOOLS[tool][0]];
  const by = (person: number, chat: ChatId, verdict: Verdict): ScriptedVote => ({ person, chat, verdict });
  const common = {
    ...{ number, tool, requester, contested: false, cancelled: false, outcome: null },
    intruder: number % 4 === 0 ? { person: intruderOf(number, requester), chat: other } : null,
  };
  const outcome = ([null, 'succeeded', 'failed'] as const)[number % 3] ?? null;
  if (place < 3) {
    const votes = [by(approver, first, 'approve'), by(second, other, 'approve')];
    return { ...common, votes, ends: ['approved'], outcome };
  }
  if (place < 5) return { ...common, votes: [], ends: ['expired'] };
  if (place < 7) return { ...common, votes: [], ends: ['cancelled'], cancelled: true };
  if (place < 9) {
    const votes = [by(approver, first, 'approve'), by(second, other, 'reject')];
    return { ...common, votes, contested: true, ends: ['approved', 'rejected'] };
  }
  if (place < 13) return { ...common, votes: [by(approver, first, 'reject')], ends: ['rejected'] };
  return { ...common, votes: [by(approver, first, 'approve')], ends: ['approved'], outcome };
}

function toolOf(number: number, place: number): Tool {
  if (place < 3) return 'bank__double';
  if (place < 5) return 'bank__brief';
  return number % 2 === 0 ? 'bank__transfer' : 'bank__refund';
}

function intruderOf(number: number, requester: number): number {
  const kinds = ['bystander', 'left', 'stranger'] as const;
  // Somebody who may decide in general, about what was asked on their own behalf.
  if (number % 3 === 0) return requester;
  return oneOf(kinds[Math.floor(number / 4) % kinds.length] ?? 'stranger', number);
}
