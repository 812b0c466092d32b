import type { JsonObject, JsonValue } from '../../json.ts';
import { CARD_LANGUAGES, PART_PROPERTIES, propertiesOf } from './card-properties.ts';

export type CheckedCard =
  | { readonly kind: 'card'; readonly card: JsonObject }
  /** What the open platform answers to a card it does not take. */
  | { readonly kind: 'fault'; readonly code: number; readonly message: string };

const MAX_ELEMENTS = 200;

/**
 * Checks a card as the platform does for JSON 2.0 (open.feishu.cn, "Card JSON 2.0 structure" and the pages of each
 * component): known tags and properties only, no `action` tag, forms at the root with unique names and submit buttons
 * without behaviors, at most 200 elements, shared cards only. The platform's inner codes are approximated.
 */
export function checkCard(content: string): CheckedCard {
  const card = parseObject(content);
  if (!card) return fault({ code: PARSE_ERROR, text: 'parse card json err' });
  if (card.schema !== '2.0') return fault({ code: PARSE_ERROR, text: 'only schema 2.0 is drawn here' });
  const [problem] = [...problemsOfParts(card)];
  if (problem) return fault(problem);
  const [inner] = [...problemsIn(rootsOf(card), { parent: 'root', inForm: false }, new Set())];
  if (inner) return fault(inner);
  return countElements(rootsOf(card)) > MAX_ELEMENTS
    ? fault({ code: 11310, text: 'element exceeds the limit' })
    : { kind: 'card', card };
}

interface Problem {
  readonly code: number;
  readonly text: string;
}

const PARSE_ERROR = 200621;
const NAME_ERROR = 200530;

const fault = ({ code, text }: Problem): CheckedCard => ({
  kind: 'fault',
  code: 230099,
  message: `Failed to create card content, ext=ErrCode: ${code}; ErrMsg: ${text}`,
});

const parseError = (text: string): Problem => ({ code: PARSE_ERROR, text });

function parseObject(content: string): JsonObject | null {
  try {
    const value: JsonValue = JSON.parse(content);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const part = (card: JsonObject, name: 'config' | 'header' | 'body'): JsonObject =>
  isObject(card[name]) ? card[name] : {};

const rootsOf = (card: JsonObject): JsonValue[] => {
  const { elements } = part(card, 'body');
  return [part(card, 'header'), ...(Array.isArray(elements) ? elements : [])];
};

function* problemsOfParts(card: JsonObject): Generator<Problem> {
  yield* strangers(card, PART_PROPERTIES.card, 'card');
  for (const name of ['config', 'header', 'body'] as const)
    yield* strangers(part(card, name), PART_PROPERTIES[name], name);
  if (part(card, 'config').update_multi === false) yield parseError('update_multi must be true in 2.0');
  if (!Array.isArray(part(card, 'body').elements)) yield parseError('body.elements must be an array');
}

function* strangers(value: JsonObject, known: string, where: string): Generator<Problem> {
  const names = known.split(' ');
  for (const key of Object.keys(value))
    if (!names.includes(key)) yield parseError(`unknown property ${key} in ${where}`);
}

interface Context {
  readonly parent: string;
  readonly inForm: boolean;
}

/** Every fault of a card's components; `seen` holds the names and ids that must be unique on the card. */
function* problemsIn(value: JsonValue, context: Context, seen: Set<string>): Generator<Problem> {
  if (Array.isArray(value)) {
    for (const item of value) yield* problemsIn(item, context, seen);
    return;
  }
  if (!isObject(value)) return;
  const { tag } = value;
  if (typeof tag === 'string') yield* problemsOfComponent(tag, value, context, seen);
  const inside =
    typeof tag === 'string' ? { parent: tag, inForm: context.inForm || tag === 'form' } : context;
  for (const child of componentsOf(value)) yield* problemsIn(child, inside, seen);
}

/** What a button carries back is the developer's own and no part of the card. */
const componentsOf = (value: JsonObject): JsonValue[] =>
  Object.entries(value).flatMap(([key, child]) => (key === 'value' || key === 'behaviors' ? [] : [child]));

function* problemsOfComponent(
  tag: string,
  component: JsonObject,
  context: Context,
  seen: Set<string>,
): Generator<Problem> {
  const properties = propertiesOf(tag);
  if (properties === null) yield parseError(`not support tag: ${tag}`);
  else yield* strangers(component, properties, tag);
  if (component.i18n_content !== undefined) yield* problemsOfTranslation(tag, component.i18n_content);
  if (component.element_id !== undefined) yield* problemsOfId(component.element_id, seen);
  if (tag === 'form') {
    if (context.parent !== 'root') yield parseError('form must be at the root');
    if (!JSON.stringify(component.elements ?? []).includes('"form_action_type":"submit"'))
      yield parseError('form has no submit button');
  }
  const isInteractive = tag === 'button' || tag === 'input';
  if (tag === 'form' || (context.inForm && isInteractive)) yield* problemsOfName(component.name, seen);
  if (tag === 'button') yield* context.inForm ? problemsOfFormButton(component) : problemsOfButton(component);
}

/** A text in each language that it names; a client of another language shows `content`. */
function* problemsOfTranslation(tag: string, translations: JsonValue): Generator<Problem> {
  const known =
    isObject(translations) && Object.keys(translations).every((key) => CARD_LANGUAGES.includes(key));
  if (!known || !Object.values(translations).every((text) => typeof text === 'string'))
    yield parseError(`i18n_content of ${tag} must be texts by language`);
}

function* problemsOfId(id: JsonValue, seen: Set<string>): Generator<Problem> {
  if (typeof id !== 'string' || !/^[A-Za-z][A-Za-z0-9_]{0,19}$/.test(id) || seen.has(`id ${id}`))
    yield parseError('element_id is invalid or used twice');
  seen.add(`id ${id}`);
}

function* problemsOfName(name: JsonValue | undefined, seen: Set<string>): Generator<Problem> {
  if (typeof name !== 'string' || name === '') yield { code: NAME_ERROR, text: 'the name is empty' };
  else if (seen.has(`name ${name}`)) yield { code: NAME_ERROR, text: `the name ${name} is used twice` };
  seen.add(`name ${name}`);
}

function* problemsOfFormButton(button: JsonObject): Generator<Problem> {
  if (button.behaviors !== undefined) yield parseError('a button in a form has no behaviors');
  if (button.form_action_type !== 'submit' && button.form_action_type !== 'reset')
    yield parseError('a button in a form needs form_action_type');
}

function* problemsOfButton(button: JsonObject): Generator<Problem> {
  if (!Array.isArray(button.behaviors)) yield parseError('a button outside a form needs behaviors');
  else
    for (const behavior of button.behaviors)
      if (isObject(behavior) && behavior.type === 'callback' && !isObject(behavior.value))
        yield parseError('a callback value must be an object');
}

function countElements(value: JsonValue): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + countElements(item), 0);
  if (!isObject(value)) return 0;
  const own = typeof value.tag === 'string' ? 1 : 0;
  return componentsOf(value).reduce((sum: number, child) => sum + countElements(child), own);
}
