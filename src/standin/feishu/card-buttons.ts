import type { JsonObject, JsonValue } from '../../json.ts';

/** A button as a client finds it on a card. */
export interface StandinButton {
  /** Place among the card's buttons, in the order they are drawn. */
  readonly index: number;
  readonly text: string;
  readonly disabled: boolean;
  /** The button's own name, in a form. */
  readonly name: string | null;
  /** What a callback behavior carries; null where the button has none. */
  readonly value: JsonObject | null;
  /** Where the button opens a page. */
  readonly url: string | null;
  /** The form it submits: names of its inputs, and those that must not be empty. */
  readonly form: { readonly inputs: readonly string[]; readonly required: readonly string[] } | null;
}

/** Every button of a card, in drawing order. */
export function buttonsOf(card: JsonObject): readonly StandinButton[] {
  const buttons: StandinButton[] = [];
  collect(card.body, null, (button, form) => {
    buttons.push(describe(button, form, buttons.length));
  });
  return buttons;
}

type Visit = (button: JsonObject, form: JsonObject | null) => void;

function collect(value: JsonValue | undefined, form: JsonObject | null, visit: Visit): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, form, visit);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  if (value.tag === 'button') {
    visit(value, form);
    return;
  }
  const inside = value.tag === 'form' ? value : form;
  for (const child of Object.values(value)) collect(child, inside, visit);
}

function describe(button: JsonObject, form: JsonObject | null, index: number): StandinButton {
  const behaviors = objects(button.behaviors);
  const callback = behaviors.find(({ type }) => type === 'callback');
  const link = behaviors.find(({ type }) => type === 'open_url');
  return {
    index,
    text: objects(button.text)[0]?.content?.toString() ?? '',
    disabled: button.disabled === true,
    name: typeof button.name === 'string' ? button.name : null,
    value: objects(callback?.value)[0] ?? null,
    url: typeof link?.default_url === 'string' ? link.default_url : null,
    form: form && button.form_action_type === 'submit' ? describeForm(form) : null,
  };
}

function describeForm(form: JsonObject): StandinButton['form'] {
  const inputs = objects(form.elements).filter(({ tag }) => tag === 'input');
  const names = (items: readonly JsonObject[]) => items.map(({ name }) => String(name));
  return { inputs: names(inputs), required: names(inputs.filter(({ required }) => required === true)) };
}

/** The objects in a value that may be one, a list of some, or none. */
const objects = (value: JsonValue | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? value : [value]).filter(
    (item): item is JsonObject => typeof item === 'object' && item !== null && !Array.isArray(item),
  );
