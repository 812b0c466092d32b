import { CHAT_IDS, type ChatId, type TrafficChat } from './chat.ts';
import type { Company } from './company.ts';
import { personName } from './people.ts';
import { TOOLS } from './scripts.ts';
import type { SendErrors } from './send-errors.ts';
import type { Told } from './story.ts';

/** What stands in the chats about one request, against its row; null where it is the truth. */
export function untruth(company: Company, { script, code }: Told, row: EndedRow): string | null {
  const places: readonly ChatId[] = TOOLS[script.tool];
  const fault = CHAT_IDS.map((chat) =>
    places.includes(chat) ? untruthIn(company.chats[chat], code, row) : strayIn(company.chats[chat], code),
  ).find((one) => one !== null);
  return fault === undefined ? null : `request ${script.number}: ${fault}`;
}

function untruthIn(chat: TrafficChat, code: string, row: EndedRow): string | null {
  const cards = chat.cardsOf(code);
  const delivery = row.deliveries.find(({ channel }) => channel === chat.id);
  // What ended before its card went out has none: nobody is asked about what is closed.
  if (cards.length === 0) return delivery?.error === 'closed_before_sent' ? null : `no card in ${chat.id}`;
  for (const messageId of cards) {
    if (!delivery?.messageIds.includes(messageId)) return `${messageId} in ${chat.id} is not in its row`;
    const { title, text, canDecide } = chat.look(messageId);
    const said = `${messageId} in ${chat.id} says “${title}”`;
    if (!title.startsWith(titleOf(row))) return `${said}, not “${titleOf(row)}”`;
    if (canDecide) return `${said} and can be decided`;
    const missing = saidOf(row).find((words) => !text.includes(words));
    if (missing !== undefined) return `${said} without ${missing}`;
    // Nobody is reminded here, and each ends in one way.
    const notes = chat.notesUnder(messageId);
    if (notes > 1) return `${said} with ${notes} notes under it`;
  }
  return null;
}

const strayIn = (chat: TrafficChat, code: string): string | null =>
  chat.cardsOf(code).length > 0 ? `a card in ${chat.id}` : null;

/** Cards more than one a chat, as far as no lost answer explains them. */
export function doubledCards(company: Company, errors: SendErrors, told: Told) {
  const duplicates = (chat: ChatId) => Math.max(0, company.chats[chat].cardsOf(told.code).length - 1);
  const unexplained = (chat: ChatId) =>
    Math.max(0, duplicates(chat) - errors.unansweredSends(chat, told.code));
  const sum = (count: (chat: ChatId) => number) => CHAT_IDS.reduce((total, chat) => total + count(chat), 0);
  return { duplicates: sum(duplicates), unexplained: sum(unexplained) };
}

export interface SeenRequest {
  readonly one: Told;
  readonly row: EndedRow;
  /** What a card says that is not so. */
  readonly untruth: string | null;
}

/** A confirmation as the auditor reads it, as far as cards tell of it. */
export interface EndedRow {
  readonly id: string;
  readonly status: string;
  readonly execution: { readonly status: string };
  readonly votes: readonly { readonly person: { readonly id: string }; readonly verdict: string }[];
  readonly deliveries: readonly {
    readonly channel: string;
    readonly error: string | null;
    readonly messageIds: readonly string[];
  }[];
}

const TITLES: Readonly<Record<string, string>> = {
  unclaimed: 'Approved, waiting to run',
  succeeded: 'Approved and done',
  failed: 'Approved, but it failed',
  rejected: 'Rejected',
  expired: 'Expired, not approved',
  cancelled: 'Cancelled',
};

const titleOf = ({ status, execution }: EndedRow): string =>
  TITLES[status === 'approved' ? execution.status : status] ?? `(no title for ${status})`;

/** Who decided, and why it was rejected. */
function saidOf({ status, votes }: EndedRow): readonly string[] {
  const deciding = votes.filter(({ verdict }) => status === 'approved' || verdict === 'reject');
  const names = status === 'approved' || status === 'rejected' ? deciding.map(({ person }) => person.id) : [];
  return status === 'rejected' ? [...names, 'not as agreed'] : names;
}

/** How its end is not what the script says, or not what the agent was told; null where it is. */
export function wrongEnd(
  { script, status }: Told,
  row: EndedRow,
): { readonly kind: 'lost' | 'let in'; readonly why: string } | null {
  const why = (what: string) => `request ${script.number}: ${what}`;
  const allowed = script.votes.map(({ person }) => personName(person));
  const uninvited = row.votes.find(({ person }) => !allowed.includes(person.id));
  if (uninvited) return { kind: 'let in', why: why(`${uninvited.person.id} voted`) };
  if (!script.ends.some((end) => end === row.status))
    return { kind: row.status === 'approved' ? 'let in' : 'lost', why: why(`ended ${row.status}`) };
  if (row.status !== status) return { kind: 'lost', why: why(`is ${row.status}, and ${status} was said`) };
  const outcome = script.outcome ?? 'unclaimed';
  if (row.status === 'approved' && row.execution.status !== outcome)
    return { kind: 'lost', why: why(`${row.execution.status} instead of ${outcome}`) };
  return null;
}
