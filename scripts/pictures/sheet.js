import { element } from '/page/element.js';
import { feishuItems } from '/page/feishu.js';
import { slackItems, slackModalItems } from '/page/slack.js';
import { TEXTS } from '/page/texts.js';

const nothing = () => {};

/** Draws every scene as the clients of one platform would; the tool calls it and takes the picture. */
window.drawSheet = ({ platform, locale, scenes, person }) => {
  document.documentElement.lang = locale;
  const draw = platform === 'feishu' ? drawFeishu : drawSlack;
  const drawn = scenes
    // Feishu's form stands on the card itself.
    .filter(({ modal }) => platform === 'slack' || modal === null)
    .map((scene) =>
      element(
        'section',
        { class: 'scene' },
        element('h2', {}, scene.name),
        element('div', { class: `phone ${platform}` }, draw(scene, locale, person)),
      ),
    );
  document.getElementById('sheet').replaceChildren(...drawn);
};

function drawFeishu({ cards }, locale) {
  const { messageId, createdAt, card } = cards.feishu;
  const state = { feishu: [{ messageId, createdAt, changes: 0, card }] };
  return feishuItems(state, TEXTS[locale], nothing).map(({ draw }) => draw());
}

function drawSlack({ cards, modal }, locale, person) {
  const state = {
    slack: { messages: [cards.slack], ephemerals: [], modals: modal === null ? [] : [modal] },
  };
  if (modal === null) return slackItems(state, person, TEXTS[locale], nothing).map(({ draw }) => draw());
  const acts = { submit: nothing, close: nothing };
  return element(
    'div',
    { class: 'veil' },
    slackModalItems(state, person, TEXTS[locale], acts).map(({ draw }) => draw()),
  );
}
