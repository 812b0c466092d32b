import { percentile } from '../percentile.ts';
import type { ChaosResult } from '../row.ts';
import { CHAT_IDS } from './chat.ts';
import type { Company } from './company.ts';
import { PEOPLE } from './people.ts';
import { SEND_ERRORS, type SendErrors } from './send-errors.ts';
import type { Storyteller } from './story.ts';
import type { SeenRequest } from './true-cards.ts';

/** What was counted, in the order one asks. */
export function trafficTable(input: {
  readonly company: Company;
  readonly errors: SendErrors;
  readonly teller: Storyteller;
  readonly seen: readonly SeenRequest[];
  readonly duplicates: number;
  /** How long the asking took, how long no service was there, and from the last end until every card was true. */
  readonly askedMs: number;
  readonly absentMs: number;
  readonly trueMs: number;
}): NonNullable<ChaosResult['table']> {
  const { company, errors, teller, seen, duplicates, askedMs, absentMs, trueMs } = input;
  const ends = (status: string) => seen.filter(({ row }) => row.status === status).length;
  const unsent = seen
    .flatMap(({ row }) => row.deliveries)
    .filter(({ error }) => error === 'closed_before_sent').length;
  const chats = CHAT_IDS.map((id) => company.chats[id].counts());
  const total = (of: 'cards' | 'notes' | 'changes') => chats.reduce((sum, counts) => sum + counts[of], 0);
  const waitsMs = seen.flatMap(({ one: { code, askedAt } }) =>
    CHAT_IDS.flatMap((id) => {
      const since = company.chats[id].since(code);
      return since === null ? [] : [Math.max(0, since - askedAt)];
    }),
  );
  return [
    ['requests', `${seen.length}, asked within ${seconds(askedMs)}`],
    ['people', PEOPLE],
    ...(['approved', 'rejected', 'expired', 'cancelled'] as const).map((end) => [end, ends(end)] as const),
    ['cards', total('cards')],
    ['closed before their card was sent', unsent],
    ['notes under cards', total('notes')],
    ['changes of cards', total('changes')],
    ['calls to send or change', errors.calls],
    ...SEND_ERRORS.map((kind) => [`answered with: ${kind}`, errors.counts[kind]] as const),
    ['duplicate cards', duplicates],
    ['service gone for', seconds(absentMs)],
    ['card in the chat, half within', milliseconds(percentile(waitsMs, 0.5))],
    ['card in the chat, 99 in 100', milliseconds(percentile(waitsMs, 0.99))],
    ['taps answered', teller.answeredMs.length],
    ['taps repeated: no answer', teller.unanswered],
    ['taps repeated: not recorded', teller.notRecorded],
    ['taps by who may not', teller.intrusions],
    ['answer, 99 in 100 within', milliseconds(percentile(teller.answeredMs, 0.99))],
    ['slowest answer', milliseconds(Math.max(0, ...teller.answeredMs))],
    ['last card true after', seconds(trueMs)],
  ];
}

const milliseconds = (ms: number): string => `${Math.round(ms)} ms`;
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
