import { feishuActions, slackActions } from '/chat/chat-actions.js';
import { element, showItems } from '/chat/element.js';
import { feishuItems } from '/chat/feishu.js';
import { personItem } from '/chat/people.js';
import { post } from '/chat/post.js';
import { showSlackModal, slackItems } from '/chat/slack.js';
import { createToast } from '/chat/toast.js';
import { chainPill, ledgerItems, recordItems } from './record.js';
import { TEXTS } from './texts.js';
import { transcriptItems } from './transcript.js';

const byId = (id) => document.getElementById(id);

let state = null;
let language = null;
let personId = 'li.wei';

const texts = () => TEXTS[language];
const person = () => state.people.find(({ id }) => id === personId);
const feishuToast = createToast(byId('feishu-toast'));
const feishu = feishuActions({ user: () => person().feishuOpenId, texts, toast: feishuToast });
const slack = slackActions({
  user: () => person().slackUser,
  texts,
  toast: createToast(byId('slack-toast')),
});

const events = new EventSource('/state');
events.onmessage = ({ data }) => {
  state = JSON.parse(data);
  language ??= state.locale;
  showConnection(true);
  show();
};
events.onerror = () => {
  if (language !== null) showConnection(false);
};

function showConnection(connected) {
  const pill = byId('connection');
  pill.textContent = connected ? texts().connected : texts().disconnected;
  pill.dataset.state = connected ? 'good' : 'bad';
}

function show() {
  const words = texts();
  showItems(byId('transcript'), transcriptItems(state, words), { follow: true });
  const { slackUser } = person();
  showItems(byId('feishu'), feishuItems(state.feishu.messages, words, feishu.tap), { follow: true });
  showItems(byId('slack'), slackItems(state.slack, slackUser, words, slack.tap), { follow: true });
  const modal = state.slack.modals.find(({ user }) => user === slackUser);
  showSlackModal(byId('slack-modal'), modal, words, slack);
  showItems(byId('ledger'), ledgerItems(state, words));
  showItems(byId('record'), recordItems(state, words));
  const chain = chainPill(state, words);
  byId('chain').textContent = chain.text;
  byId('chain').dataset.state = chain.state;
  byId('policies').textContent = state.policies;
  showPeople();
  showWords();
}

/** What changes with the language alone. */
let wordsShown = '';
function showWords() {
  if (wordsShown === language) return;
  wordsShown = language;
  const words = texts();
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll('[data-text]')) node.textContent = words[node.dataset.text];
  byId('language').textContent = words.otherLanguage;
  byId('model').textContent = state.model === null ? words.scripted : words.model(state.model);
  byId('ask-text').setAttribute('aria-label', words.askLabel);
  byId('ask-text').value = words.presets[0][1];
  byId('presets').replaceChildren(
    ...words.presets.map(([label, instruction, name]) =>
      element(
        'button',
        { type: 'button', class: 'preset', 'data-preset': name, click: () => ask(instruction) },
        label,
      ),
    ),
  );
}

function showPeople() {
  showItems(byId('people'), state.people.map(itemOf));
  byId('copy-key').textContent = texts().copyKey(language === 'zh-CN' ? person().name : person().latinName);
}

const itemOf = ({ id, name, latinName, title }) =>
  personItem({
    ...{ id, face: name.slice(-1), note: title[language], chosen: id === personId },
    name: language === 'zh-CN' ? name : `${name} ${latinName}`,
    choose: () => {
      personId = id;
      show();
    },
  });

async function ask(text) {
  if ((await post('/ask', { text })) === null) feishuToast({ type: 'error', text: texts().tapFailed });
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void ask(byId('ask-text').value);
});
byId('language').addEventListener('click', () => {
  language = language === 'zh-CN' ? 'en-US' : 'zh-CN';
  showConnection(true);
  show();
});
byId('copy-key').addEventListener('click', async ({ currentTarget }) => {
  await navigator.clipboard.writeText(person().consoleKey);
  currentTarget.textContent = texts().copied;
});
