import { clockTime, element, link, showItems } from './element.js';

/**
 * One chat as one person sees it: everybody's messages, each with what stands in its thread alone, and among them what
 * only this person is shown.
 */
export function slackItems({ messages, ephemerals }, user, texts, tap) {
  const own = ephemerals.filter((ephemeral) => ephemeral.user === user);
  const all = [
    ...messages
      .filter((message) => !isInThreadAlone(message))
      .map((message) => ({
        ...message,
        whisper: false,
        thread: messages.filter((one) => isInThreadAlone(one) && one.threadTs === message.ts),
      })),
    ...own.map((message) => ({ ...message, whisper: true, thread: [] })),
  ].sort((left, right) => Number(left.ts) - Number(right.ts));
  if (all.length === 0) {
    return [
      {
        key: 'empty',
        version: texts.emptyChat,
        draw: () => element('p', { class: 'empty' }, texts.emptyChat),
      },
    ];
  }
  return all.map((message) => ({
    key: message.ts,
    version: JSON.stringify([message, texts.app]),
    draw: () => drawMessage(message, texts, tap),
  }));
}

const isInThreadAlone = ({ threadTs, broadcast }) => threadTs !== null && !broadcast;

function drawMessage({ ts, text, blocks, edited, whisper, thread }, texts, tap) {
  return element(
    'article',
    { class: whisper ? 'sl-message whisper' : 'sl-message', 'data-ts': ts },
    whisper ? element('p', { class: 'sl-only-you' }, texts.onlyYou) : null,
    element('span', { class: 'sl-avatar', 'aria-hidden': 'true' }, 'C'),
    element(
      'div',
      { class: 'sl-body' },
      element(
        'p',
        { class: 'sl-sender' },
        element('strong', {}, 'Countersign'),
        element('span', { class: 'sl-app' }, texts.app),
        element('time', {}, clockTime(Number(ts) * 1000, false)),
      ),
      blocks.length === 0
        ? element('p', { class: 'sl-section' }, text)
        : drawBlocks(blocks, (action) => tap(ts, action)),
      edited ? element('span', { class: 'sl-edited' }, texts.edited) : null,
      thread.length === 0 ? null : element('div', { class: 'sl-thread' }, thread.map(drawReply)),
    ),
  );
}

const drawReply = ({ ts, text }) =>
  element('p', { class: 'sl-section' }, element('time', {}, clockTime(Number(ts) * 1000, false)), ` ${text}`);

const drawBlocks = (blocks, press) => blocks.map((block) => drawBlock(block, press));

function drawBlock(block, press) {
  switch (block.type) {
    case 'header':
      return element('p', { class: 'sl-header' }, block.text.text);
    case 'section':
      return element(
        'div',
        { class: 'sl-section' },
        block.text ? element('p', {}, block.text.text) : null,
        block.fields ? element('div', { class: 'sl-fields' }, block.fields.map(drawField)) : null,
      );
    case 'context':
      return element(
        'div',
        { class: 'sl-context' },
        block.elements.map((part) => element('span', {}, part.text)),
      );
    case 'divider':
      return element('hr');
    case 'rich_text':
      return element(
        'div',
        { class: 'sl-rich' },
        block.elements.map((part) => element('pre', {}, part.elements.map(({ text }) => text).join(''))),
      );
    case 'actions':
      return element(
        'div',
        { class: 'sl-actions' },
        block.elements.map((button) => drawButton(button, press)),
      );
    default:
      return null;
  }
}

/** The channel puts a label on the first line of a field; it is drawn softer, the text stays whole. */
function drawField({ text }) {
  const [label, ...rest] = text.split('\n');
  return element('p', { class: 'sl-field' }, element('span', {}, label), `\n${rest.join('\n')}`);
}

function drawButton(button, press) {
  const label = button.text.text;
  const properties = { class: 'sl-button', 'data-style': button.style ?? 'default' };
  if (button.url) return link(button.url, properties, label);
  return element('button', { ...properties, type: 'button', click: () => press(button.action_id) }, label);
}

/** What the client shows of an app that did not answer, as `{type, text}`; null where it shows nothing. */
export const slackNotice = (result, { warningSign }) =>
  result?.shownAsError ? { type: 'error', text: warningSign } : null;

/** Draws the modal over the chat, or takes it away; `submit(reason)` and `close()` are what one can do in it. */
export function showSlackModal(veil, modal, texts, { submit, close }) {
  const opened = veil.hidden && modal !== undefined;
  veil.hidden = modal === undefined;
  showItems(
    veil,
    modal === undefined
      ? []
      : [
          {
            key: modal.id,
            version: JSON.stringify([modal, texts.app]),
            draw: () => drawSlackModal(modal, { submit, close }),
          },
        ],
  );
  if (opened) veil.querySelector('textarea')?.focus({ preventScroll: true });
}

export function drawSlackModal({ view, errors }, { submit, close }) {
  return element(
    'form',
    {
      class: 'sl-modal',
      role: 'dialog',
      'aria-label': view.title.text,
      submit: (event) => {
        event.preventDefault();
        submit(event.currentTarget.querySelector('textarea')?.value ?? '');
      },
    },
    element('p', { class: 'sl-modal-title' }, view.title.text),
    view.blocks.map((block) =>
      block.type === 'input' ? drawInput(block, errors) : drawBlock(block, () => {}),
    ),
    errors[''] ? element('p', { class: 'sl-error', role: 'alert' }, errors['']) : null,
    element(
      'div',
      { class: 'sl-modal-buttons' },
      element('button', { type: 'button', class: 'sl-button', click: close }, view.close?.text ?? '×'),
      view.submit
        ? element('button', { type: 'submit', class: 'sl-button', 'data-style': 'primary' }, view.submit.text)
        : null,
    ),
  );
}

function drawInput(block, errors) {
  const error = errors[block.block_id];
  return element(
    'label',
    { class: 'sl-input' },
    block.label.text,
    element('textarea', {
      name: 'reason',
      id: 'slack-reason',
      rows: 3,
      maxLength: block.element.max_length ?? 3000,
    }),
    error ? element('span', { class: 'sl-error', role: 'alert' }, error) : null,
  );
}
