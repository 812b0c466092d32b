import { feishuActions, slackActions } from '/chat/chat-actions.js';
import { clockTime, element, showItems } from '/chat/element.js';
import { feishuItems } from '/chat/feishu.js';
import { personItem } from '/chat/people.js';
import { post } from '/chat/post.js';
import { showSlackModal, slackItems } from '/chat/slack.js';
import { createToast } from '/chat/toast.js';
import { TEXTS } from './standin-texts.js';

const byId = (id) => document.getElementById(id);

let state = null;
let language = navigator.language.startsWith('zh') ? 'zh-CN' : 'en-US';
let userId = null;
let connected = false;

const texts = () => TEXTS[language];
const user = () => state.people.find(({ id }) => id === userId) ?? state.people[0];
const toast = createToast(byId('toast'));
const actor = { user: () => user().id, texts, toast };
const feishu = feishuActions(actor);
const slack = slackActions(actor);

const events = new EventSource('/state');
events.onmessage = ({ data }) => {
  state = JSON.parse(data);
  connected = true;
  show();
};
events.onerror = () => {
  connected = false;
  if (state !== null) show();
};

function show() {
  const words = texts();
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll('[data-text]')) node.textContent = words[node.dataset.text];
  byId('connection').textContent = connected ? words.connected : words.disconnected;
  byId('connection').dataset.state = connected ? 'good' : 'bad';
  byId('language').textContent = words.otherLanguage;
  byId('title').textContent = words.title(words.platforms[state.platform]);
  byId('group-title').textContent =
    state.platform === 'slack' ? `# ${words.group.toLowerCase()}` : words.group;
  byId('direct-title').textContent = words.direct(user().name);
  for (const id of ['group', 'direct']) byId(id).parentElement.className = `panel ${state.platform}`;
  showPeople();
  if (state.platform === 'slack') showSlack(state.chats);
  else showFeishu(state.chats);
  showFaults();
}

function showPeople() {
  const items = state.people.map(({ id, name }) =>
    personItem({
      ...{ id, name, face: faceOf(name), note: id, chosen: id === user().id },
      choose: () => {
        userId = id;
        show();
      },
    }),
  );
  showItems(byId('people'), items);
}

/** A Latin name by its first letter, a Chinese one by its last. */
const faceOf = (name) => (/^[A-Z]/i.test(name) ? name[0] : name.slice(-1));

const forDirect = () => ({ ...texts(), emptyChat: texts().emptyDirect });

function showFeishu({ messages, direct }) {
  const own = direct[user().id];
  showItems(byId('group'), feishuItems(messages, texts(), feishu.tap), { follow: true });
  showItems(byId('direct'), feishuItems(own, forDirect(), feishu.tap), { follow: true });
}

function showSlack(chats) {
  const { id } = user();
  const own = chats.direct[id];
  showItems(byId('group'), slackItems(chats, id, texts(), slack.tap), { follow: true });
  showItems(byId('direct'), slackItems(own, id, forDirect(), slack.tap), { follow: true });
  const modal = chats.modals.find((one) => one.user === id);
  showSlackModal(byId('modal'), modal, texts(), slack);
}

function showFaults() {
  const words = texts();
  const { kinds, calls, waiting, met } = state.faults;
  const nameOf = (call) => call ?? words.anyCall;
  showItems(byId('call'), [choice('', words.anyCall), ...calls.map((call) => choice(call, call))]);
  showItems(
    byId('kinds'),
    kinds.map((kind) => ({
      key: kind,
      version: language,
      draw: () =>
        element(
          'button',
          { type: 'button', class: 'quiet', 'data-kind': kind, click: () => lineUp(kind) },
          words.kinds[kind],
        ),
    })),
  );
  byId('cut').hidden = !state.canCut;
  const lines = [
    ...met.map(({ call, kind, atMs }, at) =>
      line(`met${at}${atMs}`, 'met', `${clockTime(atMs)} ${words.met(call, words.kinds[kind])}`),
    ),
    ...waiting.map(({ call, kind }, at) =>
      line(`waits${at}`, 'waits', words.waits(nameOf(call), words.kinds[kind])),
    ),
  ];
  showItems(byId('faults'), lines.length > 0 ? lines : [line('none', 'none', words.noFaults)], {
    follow: true,
  });
}

const choice = (value, label) => ({
  key: value,
  version: label,
  draw: () => element('option', { value }, label),
});

const line = (key, kind, text) => ({
  key,
  version: text,
  draw: () => element('li', { 'data-fault': kind }, text),
});

async function lineUp(kind) {
  const answer = await post('/fault', { kind, call: byId('call').value || null });
  if (answer === null) toast({ type: 'error', text: texts().tapFailed });
}

byId('cut').addEventListener('click', async () => {
  const answer = await post('/cut', {});
  toast(
    answer === null
      ? { type: 'error', text: texts().tapFailed }
      : { type: 'info', text: texts().wasCut(answer.result) },
  );
});
byId('language').addEventListener('click', () => {
  language = language === 'zh-CN' ? 'en-US' : 'zh-CN';
  show();
});
byId('line-up').addEventListener('submit', (event) => event.preventDefault());
