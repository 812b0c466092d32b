import { clockTime, element, link } from './element.js';

/** The messages of one chat as Feishu's client draws cards of JSON 2.0. `tap(messageId, button, form)` presses a button. */
export function feishuItems(messages, texts, tap) {
  if (messages.length === 0) {
    return [
      {
        key: 'empty',
        version: texts.emptyChat,
        draw: () => element('p', { class: 'empty' }, texts.emptyChat),
      },
    ];
  }
  return messages.map((message) => ({
    key: message.messageId,
    version: JSON.stringify([message, texts.feishuLanguage]),
    draw: () => drawMessage(message, texts, tap),
  }));
}

/** What the client shows after a tap, as `{type, text}`; null where it shows nothing. */
export function feishuNotice(result, texts) {
  switch (result.kind) {
    case 'toast':
      return { type: result.type, text: result.text };
    case 'client-error':
      return { type: 'error', text: texts.clientError(result.code) };
    case 'required-missing':
      return { type: 'warning', text: texts.requiredMissing };
    default:
      return null;
  }
}

function drawMessage({ messageId, createdAt, changes, card }, texts, tap) {
  return element(
    'article',
    { class: 'fs-message', 'data-message': messageId },
    element('span', { class: 'fs-avatar', 'aria-hidden': 'true' }, 'C'),
    element(
      'div',
      { class: 'fs-body' },
      element(
        'p',
        { class: 'fs-sender' },
        'Countersign ',
        element('span', { class: 'fs-bot' }, texts.bot),
        element('time', {}, clockTime(createdAt, false)),
        changes > 0 ? element('span', { class: 'fs-changes' }, texts.changed(changes)) : null,
      ),
      drawCard(card, texts.feishuLanguage, (button, form) => tap(messageId, button, form)),
    ),
  );
}

/** What a client of this language shows of a text that may carry several. */
const textIn = (language, text) => text?.i18n_content?.[language] ?? text?.content ?? '';

function drawCard(card, language, press) {
  const { header, body } = card;
  // Buttons are numbered in the order in which they stand on the card.
  const drawing = { press, language, buttons: 0 };
  return element(
    'div',
    { class: 'fs-card' },
    header
      ? element(
          'div',
          { class: 'fs-header', 'data-template': header.template ?? 'default' },
          element('strong', {}, textIn(language, header.title)),
          (header.text_tag_list ?? []).map((tag) =>
            element('span', { class: 'fs-tag' }, textIn(language, tag.text)),
          ),
        )
      : null,
    element(
      'div',
      { class: 'fs-elements' },
      (body?.elements ?? []).map((part) => drawElement(part, drawing)),
    ),
  );
}

function drawElement(part, drawing) {
  switch (part.tag) {
    case 'div':
      return drawText(part.text ?? {}, drawing.language);
    case 'hr':
      return element('hr');
    case 'button':
      return drawButton(part, drawing, null);
    case 'form':
      return drawForm(part, drawing);
    default:
      return null;
  }
}

function drawText(text, language) {
  const { text_size, text_color } = text;
  return element(
    'p',
    { class: 'fs-text', 'data-size': text_size ?? 'normal', 'data-color': text_color ?? 'default' },
    textIn(language, text),
  );
}

function drawForm(form, drawing) {
  const fields = element('div', { class: 'fs-form' });
  const typed = () =>
    Object.fromEntries([...fields.querySelectorAll('textarea')].map(({ name, value }) => [name, value]));
  for (const part of form.elements) {
    if (part.tag === 'input') fields.append(drawInput(part, drawing.language));
    else if (part.tag === 'button') fields.append(drawButton(part, drawing, typed));
    else fields.append(drawElement(part, drawing) ?? '');
  }
  return fields;
}

const drawInput = (input, language) =>
  element(
    'label',
    { class: 'fs-input' },
    textIn(language, input.label),
    element('textarea', { name: input.name, rows: input.rows ?? 2, maxLength: input.max_length ?? 1000 }),
  );

function drawButton(button, drawing, typed) {
  const index = drawing.buttons;
  drawing.buttons += 1;
  const label = textIn(drawing.language, button.text);
  const open = (button.behaviors ?? []).find(({ type }) => type === 'open_url');
  if (open) return link(open.default_url, { class: 'fs-link' }, label);
  return element(
    'button',
    {
      type: 'button',
      class: 'fs-button',
      'data-width': button.width ?? 'default',
      'data-type': button.type ?? 'default',
      disabled: button.disabled === true,
      click: () => drawing.press(index, typed ? typed() : {}),
    },
    label,
  );
}
