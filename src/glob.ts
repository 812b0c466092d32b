/**
 * A glob over names: `*` stands for any run of characters (also none), everything else for itself, case-sensitively.
 * There is no escape and no other wildcard, because names of tools hold none of them.
 */
export interface Glob {
  readonly pattern: string;
  matches(name: string): boolean;
}

/** Compiles a pattern. Matching walks the name once: no regular expression, no backtracking. */
export function compileGlob(pattern: string): Glob {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return { pattern, matches: (name) => name === pattern };
  const middle = rest.filter((part) => part !== '');
  const shortest = head.length + tail.length;
  return {
    pattern,
    matches(name) {
      if (name.length < shortest || !name.startsWith(head) || !name.endsWith(tail)) return false;
      // Taking each part at its first place is right: whatever a later place would allow, the first allows too.
      const end = name.length - tail.length;
      let from = head.length;
      for (const part of middle) {
        const at = name.indexOf(part, from);
        if (at === -1 || at + part.length > end) return false;
        from = at + part.length;
      }
      return true;
    },
  };
}

/** Compiles several patterns into one test: whether any of them matches. */
export function compileGlobs(patterns: readonly string[]): (name: string) => boolean {
  const globs = patterns.map(compileGlob);
  return (name) => globs.some((glob) => glob.matches(name));
}

/**
 * Whether some name exists that both patterns match: `bank__*` and `*__pay` overlap, `bank__*` and `oa__*` do not.
 * Takes time in the product of the two lengths.
 */
export function globsOverlap(one: string, other: string): boolean {
  // `reachable[j]`: the part of `one` read so far and the first j characters of `other` can be the same name.
  let reachable: boolean[] = [true];
  for (let j = 0; j < other.length; j++) reachable.push(reachable[j] === true && other[j] === '*');
  for (const character of one.split('')) {
    const next: boolean[] = [reachable[0] === true && character === '*'];
    for (let j = 0; j < other.length; j++) {
      const either = character === '*' || other[j] === '*';
      next.push(
        either
          ? reachable[j + 1] === true || next[j] === true
          : reachable[j] === true && character === other[j],
      );
    }
    reachable = next;
  }
  return reachable[other.length] === true;
}

/** Whether `broad` matches every name that `narrow` matches: `oa__*` covers `oa__pay*`. */
export const globCovers = (broad: string, narrow: string): boolean =>
  // A character that stands in no name can only be matched by a `*`, and what matches it there matches anything.
  compileGlob(broad).matches(narrow.replaceAll('*', '\u0000'));
