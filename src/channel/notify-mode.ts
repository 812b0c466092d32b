/** Where people are asked: in the chat of each channel, each of them by a direct message, or both. */
export const NOTIFY_MODES = ['group', 'direct', 'both'] as const;
export type NotifyMode = (typeof NOTIFY_MODES)[number];
