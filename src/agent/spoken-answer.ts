import type { Clock } from '../clock.ts';
import { LeaseLost } from './run-record.ts';

/**
 * A piece of what a model says in one turn. The pieces of a turn since the last `first`, put together, are its text so
 * far; together with the answer, they are all of it.
 */
export interface SpokenPiece {
  /** Counts the answers of the run's model from 1. */
  readonly turn: number;
  readonly text: string;
  /** What was said in this turn before is void: an answer broke off and another one was asked for, or a piece was lost. */
  readonly first: boolean;
}

/** Between two pieces, so that a run costs four small writes a second at most. */
const PAUSE_MS = 250;
/** After a piece that could not be written. */
const PAUSE_AFTER_FAULT_MS = 2_000;

/**
 * Tells whoever watches a run what its model says while it speaks. Only one piece is on its way at a time, and what comes
 * meanwhile goes with the next, however slow the database is. Nothing relies on a piece: one that cannot be written is made
 * good by the next, which begins again, and the last goes on record with the answer.
 */
export class SpokenAnswer {
  readonly #turn: number;
  readonly #clock: Clock;
  readonly #tell: (piece: SpokenPiece) => Promise<void>;
  readonly #onLeaseLost: (lost: LeaseLost) => void;
  #heard = '';
  /** What whoever watches has put together; null where nobody knows. */
  #told: string | null;
  #pauseMs = PAUSE_MS;
  #cancelPause: (() => void) | null = null;
  #telling: Promise<void> | null = null;
  #isOver = false;

  constructor(input: {
    readonly turn: number;
    /** An earlier worker may have told a part of an answer in this turn. */
    readonly wasBegun: boolean;
    readonly clock: Clock;
    readonly tell: (piece: SpokenPiece) => Promise<void>;
    /** Another worker has the run: the answer is of no use any more. */
    readonly onLeaseLost: (lost: LeaseLost) => void;
  }) {
    this.#turn = input.turn;
    this.#clock = input.clock;
    this.#tell = input.tell;
    this.#onLeaseLost = input.onLeaseLost;
    this.#told = input.wasBegun ? null : '';
  }

  /** The words so far, in this attempt. */
  hear(text: string): void {
    this.#heard = text;
    this.#plan();
  }

  /** No piece is written any more, nor under way. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancelPause?.();
    await this.#telling;
  }

  /** What is left to tell of the answer, to be written with it; null where that is nothing. */
  async end(text: string | null): Promise<SpokenPiece | null> {
    await this.stop();
    return this.#pieceOf(text ?? '');
  }

  #plan(): void {
    if (this.#isOver || this.#cancelPause !== null || this.#telling !== null) return;
    // Whether there is anything to tell is looked at when it is told: a model may go on with blanks without end.
    if (this.#heard === '') return;
    this.#cancelPause = this.#clock.setTimer(this.#pauseMs, () => {
      this.#cancelPause = null;
      this.#telling = this.#tellMore().finally(() => {
        this.#telling = null;
        this.#plan();
      });
    });
  }

  async #tellMore(): Promise<void> {
    const text = sayable(this.#heard);
    const piece = this.#pieceOf(text);
    if (piece === null) return;
    try {
      await this.#tell(piece);
      this.#told = text;
      this.#pauseMs = PAUSE_MS;
    } catch (error) {
      this.#told = null;
      this.#pauseMs = PAUSE_AFTER_FAULT_MS;
      if (error instanceof LeaseLost) this.#onLeaseLost(error);
    }
  }

  #pieceOf(text: string): SpokenPiece | null {
    const told = this.#told;
    if (told === null || !text.startsWith(told)) return { turn: this.#turn, text, first: true };
    return text === told ? null : { turn: this.#turn, text: text.slice(told.length), first: told === '' };
  }
}

/** Nothing of blanks alone, since they are no answer; and no half of a character, which would not be kept. */
function sayable(text: string): string {
  if (text.trim() === '') return '';
  return /[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text;
}
