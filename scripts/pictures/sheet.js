import { CHAT_TEXTS } from '/chat/chat-texts.js';
import { element } from '/chat/element.js';
import { feishuItems } from '/chat/feishu.js';
import { drawSlackModal, slackItems } from '/chat/slack.js';

const nothing = () => {};

/** Draws every scene as the clients of one platform would; the tool calls it and takes the picture. */
window.drawSheet = ({ platform, locale, scenes }) => {
  document.documentElement.lang = locale;
  const draw = platform === 'feishu' ? drawFeishu : drawSlack;
  const drawn = scenes
    .filter((scene) => scene[platform] !== null)
    .map((scene) =>
      figure(
        scene.name,
        element('div', { class: `phone ${platform}` }, draw(scene[platform], CHAT_TEXTS[locale])),
      ),
    );
  show(drawn);
};

/** Pictures of pages side by side, each under its name. */
window.drawPages = (pages) => {
  show(
    pages.map(({ name, url, width }) =>
      figure(name, element('img', { class: 'page', src: url, width, alt: name })),
    ),
  );
};

const show = (drawn) => document.getElementById('sheet').replaceChildren(...drawn);

const figure = (name, content) => element('section', { class: 'scene' }, element('h2', {}, name), content);

function drawFeishu({ messages, typed, notices }, texts) {
  const unchanged = messages.map((message) => ({ ...message, changes: 0 }));
  return [
    ...(messages.length === 0 ? [] : feishuItems(unchanged, texts, nothing)).map(({ draw }) =>
      filled(draw(), typed),
    ),
    ...notices.map(({ after, told: { type, text } }) =>
      notice(after, element('p', { class: 'toast', 'data-type': type }, text)),
    ),
  ];
}

function drawSlack({ messages, modal, typed, notices }, texts) {
  const posted = slackItems({ messages, ephemerals: [] }, null, texts, nothing);
  const told = notices.map(({ after, told: ephemeral }) => {
    const chat = { messages: [], ephemerals: [ephemeral] };
    return notice(after, drawAll(slackItems(chat, ephemeral.user, texts, nothing)));
  });
  const asked = modal && filled(drawSlackModal(modal, { submit: nothing, close: nothing }), typed);
  return [
    ...(messages.length === 0 ? [] : drawAll(posted)),
    ...(asked === null ? [] : [element('div', { class: 'veil' }, asked)]),
    ...told,
  ];
}

const drawAll = (items) => items.map(({ draw }) => draw());

const notice = (after, drawn) =>
  element('div', { class: 'notice' }, element('p', { class: 'after' }, after), drawn);

function filled(node, typed) {
  const field = node.querySelector('textarea');
  if (field !== null) field.value = typed;
  return node;
}
