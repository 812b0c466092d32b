import type { CardSource } from '../channel/card-source.ts';
import { type ArgumentMask, MASK_BY_SHAPE } from './argument-mask.ts';
import { cardOf } from './card-of.ts';
import type { ConfirmationService } from './confirmation-service.ts';
import { type Freezes, freezeOf } from './freeze.ts';

/** Cards of the requests as the database holds them now. */
export function createCardSource(input: {
  readonly confirmations: Pick<ConfirmationService, 'get'>;
  readonly freezes: Pick<Freezes, 'active'>;
  readonly timeZone: string;
  readonly publicUrl: string;
  readonly mask?: ArgumentMask;
}): CardSource {
  const { confirmations, freezes, timeZone, publicUrl, mask = MASK_BY_SHAPE } = input;
  return {
    async read({ confirmationId, locale, view, moved }) {
      const request = await confirmations.get(confirmationId);
      if (request === null) return null;
      // Only now: a freeze makes its versions after it holds, so whoever sees such a version sees the freeze too.
      const freeze = freezeOf(request, await freezes.active());
      return cardOf({ request, freeze, locale, timeZone, publicUrl, mask, view, moved });
    },
  };
}
