import fc from 'fast-check';
import { renderCard as renderFeishu } from '../../../channels/feishu/render.ts';
import { renderCard as renderSlack } from '../../../channels/slack/render.ts';
import { renderCard as renderTelegram } from '../../../channels/telegram/render.ts';
import type { Card } from '../../../src/channel/card.ts';
import { visibleText } from '../../../src/channel/visible-text.ts';
import { MAX_ARGUMENTS_BYTES } from '../../../src/confirmation/arguments.ts';
import { cardOf } from '../../../src/confirmation/card-of.ts';
import { personId } from '../../../src/ids.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { checkCard } from '../../../src/standin/feishu/check-card.ts';
import { checkMessageBlocks } from '../../../src/standin/slack/check-blocks.ts';
import { closedRequest, pendingRequest, vote } from '../../confirmation/sample-request.ts';
import type { ChaosRow } from '../row.ts';

/** What some platform, or an eye, could take for something else than text. */
const HOSTILE: readonly string[] = [
  '<!channel>',
  '<!here>',
  '<@U0LIWEI>',
  '<#C0FINANCE>',
  '<https://evil.example|Acme>',
  '<at id=all></at>',
  '<at id="ou_liwei"></at>',
  '[Acme](https://evil.example)',
  'https://evil.example/a',
  '@here',
  '@all',
  '```',
  '`',
  '*bold*',
  '_x_',
  '~x~',
  ':moneybag:',
  '&lt;!channel&gt;',
  '&amp;',
  '\u202e',
  '\u2066',
  '\u2069',
  '\u200b',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u00ad',
  '\u034f',
  '\u115f',
  '\u3164',
  '\u{e0041}\u{e0042}',
  '\u{e0100}',
  '\ufe0f',
  '\u00a0'.repeat(40),
  '\n',
  '\r\n',
  '\u2028',
  '\u2029',
  '\u0085',
  '\u001b[31m',
  '\u0007',
  '\u0000x',
  '\t',
  '\ud800',
  '\udc00',
  '\n金额: 1.00',
  '\n*APPROVED BY CFO*\n',
  '⏎',
  '⟨U+202E⟩',
  '👨‍👩‍👧',
  '𠮷',
  'é',
  'e\u0301'.repeat(50),
  '"',
  '\\',
  '{"a":1}',
  '批准',
  'x'.repeat(700),
  '汉'.repeat(900),
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ maxLength: 12, unit: 'binary' })), {
    maxLength: 8,
  })
  .map((parts) => parts.join(''));
const huge = fc
  .tuple(fc.constantFrom(...HOSTILE), fc.integer({ min: 1, max: 100_000 }))
  .map(([unit, size]) => unit.repeat(Math.ceil(size / unit.length)));
const anyText = fc.oneof({ weight: 8, arbitrary: text }, { weight: 1, arbitrary: huge });
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  anyText,
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(anyText, { maxLength: 4 }),
  fc.dictionary(anyText, anyText, { maxKeys: 4 }),
) as fc.Arbitrary<JsonValue>;
/** Arguments of more bytes are refused before anybody sees them: what is left out here never becomes a card. */
function asMuchAsIsTaken(args: JsonObject): JsonObject {
  let left = MAX_ARGUMENTS_BYTES;
  const taken = Object.entries(args).filter(([name, value]) => {
    const bytes = Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (bytes > left) return false;
    left -= bytes;
    return true;
  });
  return Object.fromEntries(taken);
}

const requests = fc.record({
  args: fc
    .tuple(fc.dictionary(anyText, value, { maxKeys: 60 }), anyText, anyText, anyText)
    .map(([more, amount, currency, payee]) => asMuchAsIsTaken({ ...more, amount, currency, payee })),
  summary: fc.option(anyText),
  tool: anyText,
  session: fc.option(anyText),
  requester: anyText,
  reason: fc.option(anyText),
  closed: fc.boolean(),
  locale: fc.constantFrom('zh-CN', 'en-US'),
});
/** A set takes about 55 ms on an idle machine; a row that does not get through all of them has shown nothing. */
const LONGEST_PER_SET_MS = 1_000;
type Hostile = typeof requests extends fc.Arbitrary<infer T> ? T : never;

export const hostileContent: ChaosRow = {
  id: 'F22',
  title: 'hostile text in arguments, names, summaries and reasons, drawn by every channel',
  volume: { usual: 80, full: 2_000 },
  async run({ rounds }) {
    let approvable = 0;
    let largest = 0;
    const outcome = fc.check(
      fc.property(requests, (hostile) => {
        const card = drawn(hostile);
        for (const faultOf of FAULTS) {
          const result = faultOf(card);
          if (typeof result === 'string') throw new Error(result);
          approvable += result.approvable ? 1 : 0;
          largest = Math.max(largest, result.bytes);
        }
      }),
      {
        numRuns: rounds,
        maxSkipsPerRun: 1,
        interruptAfterTimeLimit: rounds * LONGEST_PER_SET_MS,
        markInterruptAsFailure: true,
      },
    );
    const note = outcome.failed
      ? `${String((outcome.errorInstance as Error | null)?.message).slice(0, 300)} for ${fc.stringify(outcome.counterexample).slice(0, 300)}`
      : `literal in ${outcome.numRuns * FAULTS.length} cards, ${approvable} with an approve button, largest ${largest} bytes`;
    return {
      tried: outcome.numRuns * FAULTS.length,
      lost: 0,
      doubled: 0,
      letIn: outcome.failed ? 1 : 0,
      note,
    };
  },
};

/** Begins the agent's own words, so that they are found wherever they come to stand. */
const WORDS = 'the agent says this: ';

const PEOPLE = { timeZone: 'Asia/Shanghai', publicUrl: 'https://gate.acme.example' } as const;

function drawn({ args, summary, tool, session, requester, reason, closed, locale }: Hostile): Card {
  const person = { id: personId('zhao.min'), name: requester };
  const said = summary === null ? null : WORDS + summary;
  const facts = { args, summary: said, tool, session, requester: person, requesterNamedByAgent: true };
  const request = closed
    ? closedRequest(
        { status: 'rejected', by: { ...person }, reason },
        { ...facts, votes: [vote(person, 'reject', reason)] },
      )
    : pendingRequest(facts);
  return cardOf({ request, freeze: null, locale: locale as Card['locale'], ...PEOPLE });
}

interface Sound {
  readonly approvable: boolean;
  readonly bytes: number;
}

/** What a card must be on Slack; a text says what it is instead. */
function slackFault(card: Card): string | Sound {
  const { payload, decisiveShown } = renderSlack(card, 'token');
  const message = JSON.parse(payload) as { text: string; blocks: JsonValue[] };
  const check = checkMessageBlocks(message.blocks);
  if (!check.ok) return `Slack would refuse it: ${JSON.stringify(check)}`;
  if (/[<>]/.test(message.text)) return 'the fallback text holds markup';
  const texts: string[] = [];
  const fault = walk(message.blocks, (node) => {
    if (node.type === 'mrkdwn' || node.type === 'markdown') return 'markup on Slack';
    if (node.type === 'plain_text' && node.emoji !== false) return 'emoji are on';
    if (['link', 'user', 'usergroup', 'channel', 'broadcast', 'emoji', 'date'].includes(String(node.type)))
      return `a ${String(node.type)} element`;
    if (typeof node.text === 'string') texts.push(node.text);
    return null;
  });
  const approvable = payload.includes('countersign.approve');
  return (
    fault ??
    commonFault(card, texts, approvable, decisiveShown) ?? { approvable, bytes: Buffer.byteLength(payload) }
  );
}

/** The same for Feishu. */
function feishuFault(card: Card): string | Sound {
  const { payload, decisiveShown } = renderFeishu({ card, token: 'token', chat: 'oc_finance' });
  const check = checkCard(payload);
  if (check.kind === 'fault') return `Feishu would refuse it: ${check.message}`;
  if (Buffer.byteLength(JSON.stringify({ content: payload })) > 30_000) return 'over 30 KB';
  const texts: string[] = [];
  const fault = walk(check.card, (node) => {
    if (['markdown', 'lark_md', 'at', 'link', 'person', 'person_list', 'note'].includes(String(node.tag)))
      return `a ${String(node.tag)} element`;
    if (typeof node.content === 'string') {
      if (node.tag !== 'plain_text') return `content in ${String(node.tag)}`;
      texts.push(node.content);
    }
    const { i18n_content: translations } = node;
    if (translations !== null && typeof translations === 'object')
      texts.push(...Object.values(translations).filter((content) => typeof content === 'string'));
    return null;
  });
  const approvable = /"action":"approve"|"name":"approve\./.test(payload);
  return (
    fault ??
    commonFault(card, texts, approvable, decisiveShown) ?? { approvable, bytes: Buffer.byteLength(payload) }
  );
}

/** The same for Telegram, which makes links and mentions of whatever looks like one outside of code. */
function telegramFault(card: Card): string | Sound {
  const { payload, decisiveShown } = renderTelegram(card, 'token');
  const { text, entities, buttons } = JSON.parse(payload) as {
    text: string;
    entities: JsonObject[];
    buttons: { text: string; callback_data: string }[];
  };
  if (text.length > 4_096) return 'over 4,096 units';
  const ours = text.endsWith(`\n${card.link}`) ? card.link.length + 1 : 0;
  const [code] = entities;
  if (entities.length !== 1 || code?.type !== 'code' || code.offset !== 0)
    return `entities ${JSON.stringify(entities)}`;
  if (code.length !== text.length - ours) return 'something beside our own link is no code';
  if (buttons.some((button) => Buffer.byteLength(button.callback_data) > 64 || button.text === ''))
    return 'a button that Telegram refuses';
  const approvable = buttons.some((button) => button.callback_data.startsWith('a.'));
  const lines = text.slice(0, text.length - ours).split('\n');
  return (
    commonFault(card, lines, approvable, decisiveShown) ?? { approvable, bytes: Buffer.byteLength(payload) }
  );
}

const FAULTS = [slackFault, feishuFault, telegramFault];

function commonFault(
  card: Card,
  texts: readonly string[],
  approvable: boolean,
  decisiveShown: boolean,
): string | null {
  for (const shown of texts) {
    if (!shown.isWellFormed()) return `half a character in ${JSON.stringify(shown.slice(0, 80))}`;
    // Our own lines are put together with line feeds and our own marks; nothing else may be unseen.
    const { changed } = visibleText(shown.replaceAll('\n', ''));
    if (changed) return `something unseen in ${JSON.stringify(shown.slice(0, 200))}`;
  }
  const decisive = new Set(card.lines.filter((line) => line.decisive).map(({ label }) => label));
  const lastDecisive = texts.findLastIndex((shown) => [...decisive].some((label) => shown.startsWith(label)));
  for (const [place, shown] of texts.entries()) {
    const at = shown.indexOf(WORDS);
    if (at < 0) continue;
    if (shown.charAt(at - 1) !== '“') return 'the agent is not quoted';
    if (place < lastDecisive) return 'the agent speaks before what decides';
  }
  if (approvable !== (decisiveShown && card.actions.kind === 'decide' && card.actions.approvable))
    return 'the approve button does not follow what is shown';
  if (!approvable) return null;
  const all = texts.join('\u0000');
  for (const { value: needed } of [...card.lines.filter((line) => line.decisive), { value: card.tool }])
    if (!all.includes(needed)) return `approvable without ${needed.slice(0, 80)}`;
  return null;
}

/** Asks about every object in a JSON value; the first answer that is not null. */
function walk(node: JsonValue, ask: (node: JsonObject) => string | null): string | null {
  if (Array.isArray(node)) {
    for (const item of node) {
      const answer = walk(item, ask);
      if (answer !== null) return answer;
    }
    return null;
  }
  if (node === null || typeof node !== 'object') return null;
  return ask(node) ?? walk(Object.values(node), ask);
}
