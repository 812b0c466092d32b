import { CHAT_IDS, type ChatId } from './chat.ts';
import type { Company } from './company.ts';
import { personName } from './people.ts';
import { TOOLS } from './scripts.ts';
import type { SendErrors } from './send-errors.ts';
import type { Told } from './story.ts';

/** What stands in the chats about one request, against its row; null where it is the truth. */
export function untruth(company: Company, told: Told, row: EndedRow): string | null {
  for (const chat of TOOLS[told.script.tool]) {
    const messages = company.chats[chat].cardsOf(told.code);
    const delivery = row.deliveries.find(({ channel }) => channel === chat);
    // What ended before its card went out has none: nobody is asked about what is closed.
    if (messages.length === 0 && delivery?.error !== 'closed_before_sent') return `no card in ${chat}`;
    const unknown = messages.find((messageId) => !delivery?.messageIds.includes(messageId));
    if (unknown !== undefined) return `${unknown} in ${chat} is not in its row`;
    for (const messageId of messages) {
      const { title, text, canDecide } = company.chats[chat].look(messageId);
      const said = `${messageId} in ${chat} says “${title}”`;
      if (!title.startsWith(titleOf(row))) return `${said}, not “${titleOf(row)}”`;
      if (canDecide) return `${said} and can be decided`;
      const missing = saidOf(row).find((words) => !text.includes(words));
      if (missing !== undefined) return `${said} without ${missing}`;
    }
  }
  const elsewhere = CHAT_IDS.filter((chat) => !TOOLS[told.script.tool].some((one) => one === chat));
  const stray = elsewhere.find((chat) => company.chats[chat].cardsOf(told.code).length > 0);
  return stray === undefined ? null : `a card in ${stray}`;
}

/** Cards more than one a chat, as far as no lost answer explains them. */
export function doubledCards(company: Company, errors: SendErrors, told: Told) {
  const duplicates = (chat: ChatId) => Math.max(0, company.chats[chat].cardsOf(told.code).length - 1);
  const unexplained = (chat: ChatId) =>
    Math.max(0, duplicates(chat) - errors.unansweredSends(chat, told.code));
  const sum = (count: (chat: ChatId) => number) => CHAT_IDS.reduce((total, chat) => total + count(chat), 0);
  return { duplicates: sum(duplicates), unexplained: sum(unexplained) };
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

/** Who voted without being in the script, and statuses that the script does not end with. */
export function wrongEnd({ script, status }: Told, row: EndedRow): 'lost' | 'let in' | null {
  const allowed = script.votes.map(({ person }) => personName(person));
  if (row.votes.some(({ person }) => !allowed.includes(person.id))) return 'let in';
  if (row.status !== status) return 'lost';
  if (!script.ends.some((end) => end === row.status)) return row.status === 'approved' ? 'let in' : 'lost';
  const outcome = row.status === 'approved' ? (script.outcome ?? 'unclaimed') : null;
  return outcome !== null && row.execution.status !== outcome ? 'lost' : null;
}
