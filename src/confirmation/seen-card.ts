import type { DeliveryId } from '../ids.ts';
import type { Locale } from '../locale.ts';

/** One version of a card as it went out; `rendered_cards` keeps its payload under the same digest. */
export interface SeenCard {
  readonly delivery: DeliveryId;
  /** The version of the request that it shows; the card may have shown newer ones since. */
  readonly version: number;
  /** `sha256:` + hex over the payload as the platform got it. */
  readonly digest: string;
  readonly locale: Locale;
  /** When it was drawn, right before it went out. */
  readonly at: Date;
}
