/**
 * `text` on one line: a line break inside a value cannot pretend to be the next line of the card. Shown as `⏎`, so
 * that nothing is hidden.
 */
export const onOneLine = (text: string): string => text.replace(/\r\n|[\n\r\u2028\u2029]/gu, ' ⏎ ');
