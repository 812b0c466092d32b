import { type ConfirmationJson, call } from '../../e2e/api.ts';
import { KEYS } from '../../e2e/platforms.ts';
import { insist } from '../insist.ts';
import type { ChatId } from './chat.ts';
import type { Company } from './company.ts';
import { Hands, personName } from './people.ts';
import type { Script, ScriptedVote } from './scripts.ts';

/** What came of one request, as those who took part in it know it. */
export interface Told {
  readonly script: Script;
  readonly id: string;
  readonly code: string;
  /** When the gate had taken it. */
  readonly askedAt: number;
  /** How it ended, as the agent that waited for it was told. */
  readonly status: string;
}

interface OpenRequest {
  readonly id: string;
  readonly code: string;
  readonly readMs: number;
  over: boolean;
}

const LOOKS_EVERY_MS = 50;
/** People read before they tap: none to four of these, by the request. */
const READS_MS = 300;
const CANCELLED_AFTER_MS = 2_000;
/** Before somebody taps again whom the client has shown an error, or whose vote is not in the row. */
const AGAIN_AFTER_MS = 400;

/** Plays the stories of all requests in one company; counts what happened to the people in them. */
export class Storyteller {
  readonly answeredMs: number[] = [];
  unanswered = 0;
  notRecorded = 0;
  intrusions = 0;
  lastEndAt = 0;
  readonly #company: Company;
  readonly #hands = new Hands();

  constructor(company: Company) {
    this.#company = company;
  }

  /** From the question to its end and, where the agent runs what was approved, to the report. */
  async play(script: Script): Promise<Told> {
    const args = argumentsOf(script);
    const asked = await insist(() =>
      call<{ confirmation: ConfirmationJson }>(this.#company.url, 'POST', '/v1/confirmations', {
        headers: { 'idempotency-key': `request-${script.number}` },
        body: { tool: script.tool, args, agent: 'procurement', requester: personName(script.requester) },
      }),
    );
    if (asked.status !== 201 && asked.status !== 200) throw new Error(`Not asked: ${JSON.stringify(asked)}`);
    const { id, verificationCode: code } = asked.body.confirmation;
    const askedAt = performance.now();
    const request: OpenRequest = { id, code, readMs: READS_MS * (script.number % 5), over: false };
    const ended = this.#waitForEnd(id).finally(() => {
      request.over = true;
    });
    const intruded = script.intruder === null ? null : this.#intrude(script.intruder, request);
    if (script.contested) await Promise.all(script.votes.map((vote) => this.#vote(vote, request)));
    else for (const vote of script.votes) await this.#vote(vote, request);
    if (script.cancelled) {
      await pause(CANCELLED_AFTER_MS);
      await this.#act(id, 'cancel', {});
    }
    const status = await ended;
    this.lastEndAt = performance.now();
    await intruded;
    if (script.outcome !== null && status === 'approved') {
      await this.#act(id, 'claim', { args });
      await this.#act(id, 'outcome', { status: script.outcome });
      this.lastEndAt = performance.now();
    }
    return { script, id, code, askedAt, status };
  }

  async #waitForEnd(id: string): Promise<string> {
    for (;;) {
      const { body } = await insist(() =>
        call<ConfirmationJson>(this.#company.url, 'GET', `/v1/confirmations/${id}?wait=30s`),
      );
      if (body.status !== 'pending') return body.status;
    }
  }

  /** What may be repeated until it is answered: a second time it is refused, having been done. */
  async #act(id: string, what: 'cancel' | 'claim' | 'outcome', body: object): Promise<void> {
    const { status, tries } = await insist(() =>
      call(this.#company.url, 'POST', `/v1/confirmations/${id}/${what}`, { body }),
    );
    if (status >= 400 && tries === 1) throw new Error(`${what} of ${id} was refused with ${status}`);
  }

  /** Until the row has the vote, or is closed: as long as somebody who wants to decide would go on. */
  async #vote(vote: ScriptedVote, request: OpenRequest): Promise<void> {
    await this.#appeared(vote.chat, request);
    await pause(request.readMs);
    while (!request.over) {
      if (await this.#tap(vote, request)) {
        const { votes, status } = await this.#read(request.id);
        const voted = votes?.some(({ person }) => person.id === personName(vote.person));
        if (voted || status !== 'pending') return;
        this.notRecorded += 1;
      }
      await pause(AGAIN_AFTER_MS);
    }
  }

  /** Once answered, whatever the answer was. */
  async #intrude(intruder: Omit<ScriptedVote, 'verdict'>, request: OpenRequest): Promise<void> {
    while (!request.over) {
      if (await this.#tap({ ...intruder, verdict: 'approve' }, request)) {
        this.intrusions += 1;
        return;
      }
      await pause(AGAIN_AFTER_MS);
    }
  }

  /** One tap, once the card is in the chat; false where it was not answered, or no card came before the end. */
  async #tap({ person, chat, verdict }: ScriptedVote, request: OpenRequest): Promise<boolean> {
    const messageId = await this.#appeared(chat, request);
    if (messageId === null) return false;
    const place = this.#company.chats[chat];
    const answer = await this.#hands.use(person, () => place.tap({ person, messageId, verdict }));
    if (answer.kind === 'answered') {
      if (answer.elapsedMs > 0) this.answeredMs.push(answer.elapsedMs);
      return true;
    }
    this.unanswered += 1;
    return false;
  }

  /** The newest card of it in this chat, once there is one; null where it was over first. */
  async #appeared(chat: ChatId, request: OpenRequest): Promise<string | null> {
    for (;;) {
      const newest = this.#company.chats[chat].cardsOf(request.code).at(-1);
      if (newest !== undefined) return newest;
      if (request.over) return null;
      await pause(LOOKS_EVERY_MS);
    }
  }

  async #read(id: string): Promise<ConfirmationJson> {
    const { body } = await insist(() =>
      call<ConfirmationJson>(this.#company.url, 'GET', `/v1/confirmations/${id}`, { key: KEYS.auditor }),
    );
    return body;
  }
}

const argumentsOf = ({ number }: Script) => ({
  amount: `${1_000 + number}.00`,
  currency: 'CNY',
  payee: `payee ${number}`,
});

const pause = (forMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, forMs));
