import type { Locale } from '../locale.ts';
import type { Notice } from './card.ts';

/** A notice as one text with a sign of how it went, where a platform has no colours or icons for it. */
export const noticeText = ({ level, text }: Notice, locale: Locale): string =>
  `${ICONS[level]} ${text[locale]}`;

const ICONS: Readonly<Record<Notice['level'], string>> = {
  success: '✅',
  info: 'ℹ️',
  warning: '⚠️',
  error: '⛔',
};
