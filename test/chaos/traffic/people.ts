/** Forty people: who they are to the gate decides what their taps may do. */
export const PEOPLE = 40;
const APPROVERS = 24;
const ASKING_APPROVERS = 6;
const BYSTANDERS = 5;
const LEFT = 3;

export type Standing =
  /** May decide. */
  | 'approver'
  /** May decide, but not what was asked for on their own behalf. */
  | 'asking approver'
  /** Of the company, and no approver. */
  | 'bystander'
  /** An approver once. */
  | 'left'
  /** In the chat, and in no configuration. */
  | 'stranger';

export function standingOf(person: number): Standing {
  let end = 0;
  for (const [standing, count] of COUNTS) {
    end += count;
    if (person < end) return standing;
  }
  return 'stranger';
}

const COUNTS: readonly (readonly [Standing, number])[] = [
  ['approver', APPROVERS],
  ['asking approver', ASKING_APPROVERS],
  ['bystander', BYSTANDERS],
  ['left', LEFT],
];

/** The people of one standing, numbered through: any number means one of them. */
export function oneOf(standing: Standing, number: number): number {
  const people = Array.from({ length: PEOPLE }, (_, person) => person).filter(
    (person) => standingOf(person) === standing,
  );
  return people[number % people.length] ?? 0;
}

export const personName = (person: number): string => `person.${String(person).padStart(2, '0')}`;
export const slackUser = (person: number): string => `U0P${String(person).padStart(2, '0')}`;
export const feishuUnion = (person: number): string => `on_p${String(person).padStart(2, '0')}`;

/** Does what a person does one thing after another, however many cards wait for them. */
export class Hands {
  readonly #last = new Map<number, Promise<unknown>>();

  async use<T>(person: number, act: () => Promise<T>): Promise<T> {
    const before = this.#last.get(person) ?? Promise.resolve();
    const mine = before.then(act, act);
    this.#last.set(person, mine);
    return mine;
  }
}
