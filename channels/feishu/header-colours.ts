import type { CardState } from '../../src/channel/card.ts';

/** Orange asks for something, green alone says that it was done, grey that nothing came of it. */
export const HEADER_COLOURS: Readonly<Record<CardState, string>> = {
  pending: 'orange',
  approved: 'blue',
  'cooling-off': 'wathet',
  executing: 'indigo',
  succeeded: 'green',
  failed: 'carmine',
  unknown: 'violet',
  lapsed: 'grey',
  revoked: 'grey',
  rejected: 'red',
  expired: 'grey',
  cancelled: 'grey',
  undeliverable: 'grey',
};

/** Whatever else its state says, nothing runs while it is frozen. */
export const FROZEN_COLOUR = 'purple';
