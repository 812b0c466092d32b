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
    .filter((scene) => scene[platform] !== null)
    .map((scene) =>
      figure(
        scene.name,
        element('div', { class: `phone ${platform}` }, draw(scene[platform], TEXTS[locale], person)),
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
  const state = { feishu: messages.map((message) => ({ ...message, changes: 0 })) };
  return [
    ...(messages.length === 0 ? [] : feishuItems(state, texts, nothing)).map(({ draw }) =>
      filled(draw(), typed),
    ),
    ...notices.map(({ after, told: { type, text } }) =>
      notice(after, element('p', { class: 'toast', 'data-type': type }, text)),
    ),
  ];
}

function drawSlack({ messages, modal, typed, notices }, texts, person) {
  const drawn = (message, user) => {
    const state = {
      slack: {
        messages: user === undefined ? [message] : [],
        ephemerals: user === undefined ? [] : [message],
      },
    };
    return slackItems(state, { ...person, slackUser: user }, texts, nothing).map(({ draw }) => draw());
  };
  const told = notices.map(({ after, told: ephemeral }) => notice(after, drawn(ephemeral, ephemeral.user)));
  const posted = messages.map((message) => drawn(message));
  if (modal === null) return [...posted, ...told];
  const state = { slack: { modals: [modal] } };
  const acts = { submit: nothing, close: nothing };
  const asked = slackModalItems(state, person, texts, acts).map(({ draw }) => filled(draw(), typed));
  return [...posted, element('div', { class: 'veil' }, asked), ...told];
}

const notice = (after, drawn) =>
  element('div', { class: 'notice' }, element('p', { class: 'after' }, after), drawn);

function filled(node, typed) {
  const field = node.querySelector('textarea');
  if (field !== null) field.value = typed;
  return node;
}
