export const LOCALES = ['zh-CN', 'en-US'] as const;
export type Locale = (typeof LOCALES)[number];

/** One sentence in each language people read; a surface picks the one of the person or of the channel. */
export type LocalizedText = Readonly<Record<Locale, string>>;
