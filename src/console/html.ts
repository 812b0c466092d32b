/** A piece of markup that was built by `html` and by nothing else: every value in it is escaped. */
export class Html {
  readonly #markup: string;
  private constructor(markup: string) {
    this.#markup = markup;
  }
  toString(): string {
    return this.#markup;
  }
  /** `html` below is the way in; there is none for a string that is already markup. */
  static build(strings: TemplateStringsArray, values: readonly Content[]): Html {
    return new Html(
      strings.reduce((markup, part, index) => `${markup}${markupOf(values[index - 1])}${part}`),
    );
  }
}

export type Content = Html | string | number | null | undefined | false | readonly Content[];

/**
 * Markup with values put in. A string is text, whatever it holds: in elements, and in attributes that stand in double
 * quotes. Never inside `<script>`, `<style>`, an unquoted attribute or a URL's scheme.
 */
export const html = (strings: TemplateStringsArray, ...values: readonly Content[]): Html =>
  Html.build(strings, values);

function markupOf(value: Content): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(markupOf).join('');
  return String(value).replace(/[&<>"'`]/g, (character) => ENTITIES[character] ?? '');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};
