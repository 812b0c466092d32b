export type Environment = Readonly<Record<string, string | undefined>>;

export type Expansion =
  | { readonly kind: 'plain' }
  | { readonly kind: 'expanded'; readonly text: string; readonly used: readonly UsedVariable[] }
  /** The whole text is one reference, and nothing is behind it: as if the key were not there. */
  | { readonly kind: 'absent'; readonly name: string }
  | { readonly kind: 'faulty'; readonly message: string };

export interface UsedVariable {
  readonly name: string;
  readonly value: string;
}

// A reference, or its beginning where it never ends; `$${` stands for the two characters `${`.
const REFERENCE = /\$(?:(\$)\{|\{([^}]*)(\}?))/g;
const INSIDE = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Puts the environment's values in the place of `${NAME}` and `${NAME:-default}`. The default also stands in for an
 * empty value, as in a shell. What is put in is text and nothing else: it is neither expanded again nor read as YAML.
 */
export function expandEnvironment(text: string, environment: Environment): Expansion {
  if (!text.includes('${')) return { kind: 'plain' };
  const used: UsedVariable[] = [];
  const faults: string[] = [];
  const expanded = text.replace(REFERENCE, (whole, escaped: string, inside: string, end: string) => {
    if (escaped === '$') return '${';
    const [, name, fallback] = INSIDE.exec(inside) ?? [];
    if (name === undefined || end === '') {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the message shows how a reference is written.
      faults.push('holds a `${` that does not read `${NAME}` or `${NAME:-default}`');
      return '';
    }
    const found = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (found === undefined && fallback === undefined)
      faults.push(`needs the environment variable ${name}, which is not set`);
    if (found === '' && fallback === undefined && whole !== text)
      faults.push(`needs the environment variable ${name}, which is empty`);
    const value = found === undefined || found === '' ? (fallback ?? '') : found;
    used.push({ name, value });
    return value;
  });
  if (faults.length > 0) return { kind: 'faulty', message: [...new Set(faults)].join('; ') };
  const [only] = used;
  if (expanded === '' && used.length === 1 && only !== undefined) return { kind: 'absent', name: only.name };
  return { kind: 'expanded', text: expanded, used };
}
