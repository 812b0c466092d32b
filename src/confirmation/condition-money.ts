import { ExactDecimal } from './condition-decimal.ts';
import { ConditionFailure } from './condition-failure.ts';

const CURRENCY_CODE = /^[A-Z]{3}$/;

/** An amount in a currency. Amounts of different currencies have no order, no sum, and are not unequal either. */
export class Money {
  readonly #amount: ExactDecimal;
  readonly #currency: string;

  private constructor(amount: ExactDecimal, currency: string) {
    this.#amount = amount;
    this.#currency = currency;
  }

  /** `currency` is a code of three capital letters (ISO 4217). Throws a ConditionFailure. */
  static from(amount: unknown, currency: unknown): Money {
    const exactAmount = ExactDecimal.from(amount, 0);
    if (typeof currency !== 'string' || !CURRENCY_CODE.test(currency))
      throw new ConditionFailure('is not a currency code of three capital letters', { parameter: 1 });
    return new Money(exactAmount, currency);
  }

  get words(): number {
    return this.#amount.words;
  }

  plus(other: Money): Money {
    return new Money(this.#amount.plus(this.#inSameCurrency(other)), this.#currency);
  }

  minus(other: Money): Money {
    return new Money(this.#amount.minus(this.#inSameCurrency(other)), this.#currency);
  }

  times(factor: ExactDecimal): Money {
    return new Money(this.#amount.times(factor), this.#currency);
  }

  equals(other: Money): boolean {
    return this.compare(other) === 0;
  }

  compare(other: Money): number {
    return this.#amount.compare(this.#inSameCurrency(other));
  }

  #inSameCurrency(other: Money): ExactDecimal {
    if (other.#currency !== this.#currency) throw new OtherCurrency();
    return other.#amount;
  }
}

/** Two currencies met; which argument brought the wrong one is found from the expression. */
export class OtherCurrency extends ConditionFailure {
  constructor() {
    super('is another currency than the condition compares with');
  }
}
