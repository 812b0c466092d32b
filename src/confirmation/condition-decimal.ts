import { Decimal } from 'decimal.js';
import { ConditionFailure } from './condition-failure.ts';

// Precise enough that no operation on values within the bounds below ever rounds.
const Exact = Decimal.clone({ precision: 2_000 });

const DECIMAL_TEXT = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;
const LONGEST_DECIMAL_TEXT = 100;
/** Of inputs and results alike: digits that count, and the distance of the first one from the point. */
const MOST_DIGITS = 400;

/**
 * Texts that were read lately: the same limits stand in hundreds of conditions, and each of them reads the same amount
 * of a call. The numbers never change, so that sharing them is safe.
 */
const recent = new Map<string, ExactDecimal>();
const MOST_RECENT = 2_000;

/** An exact decimal number of a condition. Never passes through a double; nothing is ever rounded. */
export class ExactDecimal {
  readonly #value: Decimal;

  private constructor(value: Decimal) {
    this.#value = value;
  }

  /**
   * Reads `68000.00`, `-1`, `1e5`; no blanks, no separators, no leading `+`, no hexadecimal. A JSON number counts as
   * the shortest text that denotes it; one beyond the safe integers may already have lost digits and is refused.
   * Throws a ConditionFailure about `parameter`.
   */
  static from(value: unknown, parameter: number): ExactDecimal {
    if (value instanceof ExactDecimal) return value;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
      throw new ConditionFailure('is neither a text nor a number', { parameter });
    if (typeof value === 'number' && !(Number.isFinite(value) && isExact(value)))
      throw new ConditionFailure('is not a number that can be read exactly', { parameter });
    const text = String(value);
    const known = recent.get(text);
    if (known !== undefined) return known;
    if (text.length > LONGEST_DECIMAL_TEXT || !DECIMAL_TEXT.test(text))
      throw new ConditionFailure('is not a decimal number', { parameter });
    const decimal = bounded(new ExactDecimal(new Exact(text)));
    if (recent.size >= MOST_RECENT) recent.clear();
    recent.set(text, decimal);
    return decimal;
  }

  /** How long it is, in words of seven digits. */
  get words(): number {
    return this.#value.d.length;
  }

  plus(other: ExactDecimal): ExactDecimal {
    return bounded(new ExactDecimal(this.#value.plus(other.#value)));
  }

  minus(other: ExactDecimal): ExactDecimal {
    return bounded(new ExactDecimal(this.#value.minus(other.#value)));
  }

  times(other: ExactDecimal): ExactDecimal {
    return bounded(new ExactDecimal(this.#value.times(other.#value)));
  }

  /** Throws where the result has no end (1/3): what is rounded decides nothing here. */
  dividedBy(other: ExactDecimal): ExactDecimal {
    if (other.#value.isZero()) throw new ConditionFailure('leads to a division by zero');
    const quotient = new ExactDecimal(this.#value.dividedBy(other.#value));
    if (ExactDecimal.exceedsBounds(quotient) || !quotient.times(other).equals(this))
      throw new ConditionFailure('leads to a division that does not come out even');
    return quotient;
  }

  negated(): ExactDecimal {
    return new ExactDecimal(this.#value.negated());
  }

  equals(other: ExactDecimal): boolean {
    return this.#value.equals(other.#value);
  }

  /** Negative, zero or positive as this is less than, equal to or more than the other. */
  compare(other: ExactDecimal): number {
    return this.#value.comparedTo(other.#value);
  }

  static exceedsBounds(decimal: ExactDecimal): boolean {
    const value = decimal.#value;
    return !value.isZero() && (value.precision() > MOST_DIGITS || Math.abs(value.e) > MOST_DIGITS);
  }
}

const isExact = (value: number): boolean => !Number.isInteger(value) || Number.isSafeInteger(value);

function bounded(decimal: ExactDecimal): ExactDecimal {
  if (ExactDecimal.exceedsBounds(decimal))
    throw new ConditionFailure('leads to a number with too many digits');
  return decimal;
}
