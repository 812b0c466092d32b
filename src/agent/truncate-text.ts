/** The text, cut to at most `length` UTF-16 code units without splitting a character; the cut can be seen. */
export function truncateText(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}
