import type { CardSource } from '../channel/card-source.ts';
import { cardOf } from './card-of.ts';
import type { ConfirmationService } from './confirmation-service.ts';

/** Cards of the requests as the database holds them now. */
export function createCardSource(input: {
  readonly confirmations: Pick<ConfirmationService, 'get'>;
  readonly timeZone: string;
  readonly publicUrl: string;
}): CardSource {
  const { confirmations, timeZone, publicUrl } = input;
  return {
    async read({ confirmationId, locale }) {
      const request = await confirmations.get(confirmationId);
      return request === null ? null : cardOf({ request, locale, timeZone, publicUrl });
    },
  };
}
