import { element, showItems } from './element.js';
import { feishuItems } from './feishu.js';
import { chainPill, ledgerItems, recordItems } from './record.js';
import { slackItems, slackModalItems } from './slack.js';
import { TEXTS } from './texts.js';
import { transcriptItems } from './transcript.js';

const byId = (id) => document.getElementById(id);
const TOAST_MS = 6000;

let state = null;
let language = null;
let personId = 'li.wei';
let toastTimer = null;

const texts = () => TEXTS[language];
const person = () => state.people.find(({ id }) => id === personId);

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
  showItems(byId('feishu'), feishuItems(state, words, tapInFeishu), { follow: true });
  showItems(byId('slack'), slackItems(state, person(), words, tapInSlack), { follow: true });
  const modal = slackModalItems(state, person(), words, { submit: submitModal, close: closeModal });
  const veil = byId('slack-modal');
  const opened = veil.hidden && modal.length > 0;
  veil.hidden = modal.length === 0;
  showItems(veil, modal);
  if (opened) byId('slack-reason')?.focus({ preventScroll: true });
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
  showItems(
    byId('people'),
    state.people.map((one) => ({
      key: one.id,
      version: `${language}${one.id === personId}`,
      draw: () => drawPerson(one),
    })),
  );
  byId('copy-key').textContent = texts().copyKey(language === 'zh-CN' ? person().name : person().latinName);
}

function drawPerson(one) {
  return element(
    'button',
    {
      type: 'button',
      id: `person-${one.id}`,
      class: 'person',
      role: 'radio',
      'aria-checked': String(one.id === personId),
      'data-person': one.id,
      click: () => {
        personId = one.id;
        show();
      },
    },
    element('span', { class: 'face', 'aria-hidden': 'true' }, one.name.slice(-1)),
    element(
      'span',
      {},
      element('strong', {}, language === 'zh-CN' ? one.name : `${one.name} ${one.latinName}`),
      element('small', {}, one.title[language]),
    ),
  );
}

async function send(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => null);
  if (!response?.ok) {
    toast('error', texts().tapFailed);
    return null;
  }
  return (await response.json()).result;
}

const ask = (text) => send('/ask', { text });

async function tapInFeishu(message, button, form) {
  const result = await send('/feishu/tap', { person: personId, message, button, form });
  if (result?.kind === 'toast') toast(result.type, result.text);
  if (result?.kind === 'client-error') toast('error', texts().clientError(result.code));
  if (result?.kind === 'required-missing') toast('warning', texts().requiredMissing);
}

const tapInSlack = (ts, action) => send('/slack/tap', { person: personId, ts, action });
const submitModal = (reason) => send('/slack/submit', { person: personId, reason });
const closeModal = () => send('/slack/close', { person: personId });

function toast(type, text) {
  const node = byId('feishu-toast');
  node.textContent = text;
  node.dataset.type = type;
  node.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    node.hidden = true;
  }, TOAST_MS);
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
