/**
 * Whether a tool's full name matches a `*` glob: `*` is any run of characters, everything else is itself, upper and
 * lower case differ. Linear in the lengths, so a hostile pattern costs nothing.
 */
export function matchesToolPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === name;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let from = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, from);
    if (found < 0) return false;
    from = found + part.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}

export const matchesAnyToolPattern = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesToolPattern(pattern, name));
