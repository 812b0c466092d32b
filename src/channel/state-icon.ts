import type { Card, CardState } from './card.ts';

/** The sign before a card's title, where a platform has no colours for it. Whatever the state, ice while it is frozen. */
export const stateIcon = ({ state, frozen }: Pick<Card, 'state' | 'frozen'>): string =>
  frozen ? '🧊' : ICONS[state];

const ICONS: Readonly<Record<CardState, string>> = {
  pending: '🟡',
  approved: '🔵',
  'cooling-off': '🕒',
  executing: '⏳',
  succeeded: '✅',
  failed: '❌',
  unknown: '❓',
  lapsed: '⌛',
  revoked: '🚫',
  rejected: '⛔',
  expired: '⌛',
  cancelled: '🚫',
  undeliverable: '📭',
};
