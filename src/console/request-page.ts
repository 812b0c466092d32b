import type { AuditEvent } from '../audit/audit-event.ts';
import { type VisibleText, visibleText } from '../channel/visible-text.ts';
import { argumentLabel } from '../confirmation/argument-label.ts';
import { type ArgumentMask, maskArguments } from '../confirmation/argument-mask.ts';
import { argumentText } from '../confirmation/argument-text.ts';
import { cardFacts, cardOutcome, cardReferences, freezeWarning } from '../confirmation/card-facts.ts';
import { cardOf, cardStateOf } from '../confirmation/card-of.ts';
import { CARD_TEXTS, type CardTexts } from '../confirmation/card-texts.ts';
import type {
  ClosedConfirmationRequest,
  ConfirmationRequest,
  PersonRef,
} from '../confirmation/confirmation-request.ts';
import type { DeliveryRecord } from '../confirmation/delivery-record.ts';
import type { FollowedWords } from '../confirmation/followed-fact.ts';
import type { Freeze } from '../confirmation/freeze.ts';
import { leavesOf } from '../confirmation/json-pointer.ts';
import { ownReasonText } from '../confirmation/own-reason.ts';
import { seatsOf } from '../confirmation/seats.ts';
import { maskSecrets } from '../confirmation/secret-shapes.ts';
import { rerunWarning } from '../confirmation/unknown-facts.ts';
import { UNKNOWN_TEXTS } from '../confirmation/unknown-texts.ts';
import { zonedTime } from '../confirmation/zoned-time.ts';
import type { ChannelId } from '../ids.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import { CONSOLE_TEXTS, type ConsoleTexts } from './console-texts.ts';
import { type Content, type Html, html } from './html.ts';
import { page } from './layout.ts';
import { settleForm } from './settle-form.ts';

export interface RequestPageInput {
  readonly request: ConfirmationRequest;
  readonly freeze: Freeze | null;
  readonly deliveries: readonly DeliveryRecord[];
  readonly adviceOn: (channel: ChannelId, error: string) => LocalizedText | null;
  /** How much of what was written about the rejection before may be told to the viewer. */
  readonly followedWords: FollowedWords;
  readonly record: { readonly items: readonly AuditEvent[]; readonly nextCursor: string | null };
  readonly viewer: PersonRef;
  readonly locale: Locale;
  readonly timeZone: string;
  readonly publicUrl: string;
  readonly mask: ArgumentMask;
  readonly path: string;
  /** Why what the viewer did a moment ago had no effect; null: nothing was refused. */
  readonly refusal: string | null;
}

/**
 * Everything about one request, in full: what a card had to leave out stands here. Nothing can be decided on it; what
 * became of a call of unknown outcome can be said, by whoever has a seat.
 */
export function requestPage(input: RequestPageInput): string {
  const { request, freeze, locale, timeZone } = input;
  const texts = CONSOLE_TEXTS[locale];
  const cardTexts = CARD_TEXTS[locale];
  const style = { texts: cardTexts, locale, timeZone };
  const card = cardOf({ request, freeze, locale, timeZone, publicUrl: input.publicUrl, mask: input.mask });
  const shown = maskArguments(request.args, request.decisiveFields, input.mask);
  const time = (at: Date) => html`<time datetime="${at.toISOString()}">${zonedTime(at, timeZone)}</time>`;
  return page(
    { locale, path: input.path, title: card.title, signedInAs: visibleText(input.viewer.name).text },
    html`${input.refusal !== null && html`<p class="error" role="alert">${input.refusal}</p>`}<section>
<h1 class="${cardStateOf(request)}">${card.title}</h1>
<p class="soft">${cardTexts.facts.code} <span class="code">${request.verificationCode}</span></p>
${freeze !== null && html`<p class="warning">${freezeWarning(freeze, style)}</p>`}
${
  request.requesterNamedByAgent &&
  html`<p class="warning">${cardTexts.warnings.requesterNamedByAgent(visibleText(request.requester.name).text)}</p>`
}
${rerunWarning(request, locale) !== null && html`<p class="warning">${rerunWarning(request, locale)}</p>`}
${request.summary !== null && html`<p>${cardTexts.agentSays}: “${visibleText(shown.maskText(request.summary)).text}”</p>`}
${request.status === 'pending' && html`<p class="soft">${texts.readOnly}</p>`}
${card.actions.kind === 'revoke' && html`<p class="soft">${texts.actOnCard}</p>`}
</section>
${request.status !== 'pending' && section(texts.sections.outcome, outcomeList(request, input, time))}
${
  card.actions.kind === 'settle' &&
  seatsOf(request).some(({ id }) => id === input.viewer.id) &&
  section(texts.sections.settle, settleForm(card.actions, input))
}
${section(texts.sections.arguments, argumentList(input, texts))}
${section(
  texts.sections.facts,
  html`<dl>
${field(texts.fields.tool, visible(visibleText(request.tool), texts))}
${[...cardFacts(request, style, input.followedWords), ...cardReferences(request, style, shown)].map(({ label, value }) => field(label, label === cardTexts.facts.follows ? followed(value, input) : value))}
${field(texts.fields.owner, request.agentOwner ?? texts.empty)}
${field(texts.fields.approvers, people(seatsOf(request)))}
${field(texts.fields.created, time(request.createdAt))}
${request.callId !== null && field(texts.fields.callId, visible(visibleText(request.callId), texts))}
</dl>`,
)}
${section(
  texts.sections.votes,
  list(
    request.votes.map(
      (vote) =>
        html`${vote.seat.id === vote.person.id ? person(vote.person) : cardTexts.standsIn(visibleText(vote.person.name).text, visibleText(vote.seat.name).text)} · ${texts.verdicts[vote.verdict]} · ${vote.channel === 'api' ? texts.viaApi : vote.channel} · ${time(vote.at)}${
          vote.reason !== null && html`<br>“${visible(visibleText(maskSecrets(vote.reason)), texts)}”`
        }${
          vote.seen !== null &&
          html`<br><span class="soft">${texts.saw(vote.seen.version, vote.seen.locale)} · ${time(vote.seen.at)} · <code>${vote.seen.digest}</code></span>`
        }`,
    ),
    texts,
  ),
)}
${section(
  texts.sections.deliveries,
  list(
    input.deliveries.map(
      ({ channel, person: recipient, state, messageIds, at, error }) =>
        html`${channel} · ${recipient !== null && html`${person(recipient)} · `}${texts.deliveryStates[state]} · ${time(at)}${messageIds.map((id) => html` · <code>${id}</code>`)}${
          error !== null &&
          html`<br><span class="soft">${visibleText(error).text}</span>${adviceLine(input.adviceOn(channel, error), locale)}`
        }`,
    ),
    texts,
  ),
)}
${section(
  texts.sections.binding,
  html`<dl>
${field(texts.fields.digest, html`<code>${request.argsDigest}</code>`)}
${field(texts.fields.toolVersion, html`<code>${request.toolVersion ?? texts.empty}</code>`)}
${field(texts.fields.id, html`<code>${request.id}</code>`)}
</dl>`,
)}
${section(texts.sections.record, recordList(input, texts, time))}`,
  );
}

/** With a way to the request that was rejected; whoever may not see it is told so there. */
const followed = (value: string, { request: { follows }, locale }: RequestPageInput): Content =>
  follows === null
    ? value
    : html`<bdi>${value}</bdi> · <a href="/requests/${follows.id}?lang=${locale}">${CARD_TEXTS[locale].followedLink}</a>`;

const adviceLine = (advice: LocalizedText | null, locale: Locale) =>
  advice !== null && html`<br><span class="soft">→ ${advice[locale]}</span>`;

type Time = (at: Date) => Html;

/** Each argument under its label on the card, uncut, what decides first; where something could not be seen it says so. */
function argumentList({ request, locale, mask }: RequestPageInput, texts: ConsoleTexts): Html {
  const decisive = request.decisiveFields.map(({ pointer }) => pointer);
  const rank = (pointer: string): number => {
    const place = decisive.findIndex((field) => pointer === field || pointer.startsWith(`${field}/`));
    return place < 0 ? decisive.length : place;
  };
  const { args, masked } = maskArguments(request.args, request.decisiveFields, mask);
  const leaves = [...leavesOf(args)].filter(([pointer]) => pointer !== '');
  const labelOf = (pointer: string): string => {
    const role = request.decisiveFields.find((field) => field.pointer === pointer)?.role ?? 'other';
    return role === 'other' ? argumentLabel(pointer, request.decisiveFields) : CARD_TEXTS[locale].roles[role];
  };
  if (leaves.length === 0) return html`<p class="soft">${CARD_TEXTS[locale].noArguments}</p>`;
  const inOrder = leaves.sort(([left], [right]) => rank(left) - rank(right));
  return html`<dl>${inOrder.map(
    ([pointer, value]) =>
      html`<dt title="${visibleText(maskSecrets(pointer)).text}">${visible(visibleText(labelOf(pointer)), texts)}</dt><dd class="value">${visible(visibleText(argumentText(value)), texts)}${masked.includes(pointer) && html` <span class="badge">${texts.masked}</span>`}</dd>`,
  )}</dl>`;
}

/** As on the card, but reason and detail are not cut here. */
function outcomeList(
  request: ClosedConfirmationRequest,
  { locale, timeZone }: RequestPageInput,
  time: Time,
): Html {
  const cardTexts = CARD_TEXTS[locale];
  const texts = CONSOLE_TEXTS[locale];
  const full = new Map<string, string | null>([
    [cardTexts.outcome.reason, wordsOf(request, request.decision, locale)],
    ...executionWords(request, cardTexts, locale),
  ]);
  const outcome = cardOutcome(request, { texts: cardTexts, locale, timeZone });
  // The card says it only as long as it matters there.
  const saysRunBy = outcome.some(({ label }) => label === cardTexts.outcome.runBy);
  return html`<dl>
${outcome.map(({ label, value }) => {
  const uncut = full.get(label);
  return field(label, uncut ? html`“${visible(visibleText(maskSecrets(uncut)), texts)}”` : value);
})}
${request.status === 'approved' && !saysRunBy && field(texts.fields.executeBy, time(request.execution.executeBy))}
</dl>`;
}

/** What somebody said; null where it is a code, which the card explains in full. */
const wordsOf = (
  request: ClosedConfirmationRequest,
  said: { readonly by: PersonRef | null; readonly reason: string | null },
  locale: Locale,
): string | null => (ownReasonText(request, said, locale) === null ? said.reason : null);

/** What was said of an execution, by the label under which the card shows a part of it. */
function executionWords(
  request: ConfirmationRequest,
  { outcome }: CardTexts,
  locale: Locale,
): [string, string | null][] {
  if (request.status !== 'approved' || !('detail' in request.execution)) return [];
  const { execution } = request;
  if (execution.status === 'revoked') return [[outcome.revokeReason, wordsOf(request, execution, locale)]];
  const rerun = execution.status === 'unknown' ? execution.rerun : null;
  return [
    [outcome.detail, execution.detail],
    [UNKNOWN_TEXTS[locale].labels.rerunReason, rerun?.reason ?? null],
  ];
}

function recordList({ record }: RequestPageInput, texts: ConsoleTexts, time: Time): Html {
  return html`${list(
    record.items.map(
      ({ seq, kind, at, actor }) =>
        html`#${seq} · ${texts.kinds[kind] ?? kind} · ${visibleText(actor.name).text} · ${time(at)}`,
    ),
    texts,
  )}<p class="soft">${record.nextCursor === null ? texts.recordLater : texts.recordMore}</p>`;
}

const section = (title: string, content: Content): Html =>
  html`<section><h2>${title}</h2>${content}</section>`;

const field = (label: string, value: Content): Html => html`<dt>${label}</dt><dd>${value}</dd>`;

const list = (items: readonly Content[], texts: ConsoleTexts): Html =>
  items.length === 0
    ? html`<p class="soft">${texts.empty}</p>`
    : html`<ul>${items.map((item) => html`<li>${item}</li>`)}</ul>`;

/** In an element of its own, so that what is inside cannot reorder what stands around it. */
const visible = ({ text, changed }: VisibleText, texts: ConsoleTexts): Html =>
  html`<bdi>${text}</bdi>${changed && html` <span class="badge">⚠ ${texts.hidden}</span>`}`;

const person = ({ id, name }: PersonRef): Html => html`${visibleText(name).text} (${id})`;

const people = (persons: readonly PersonRef[]): Content =>
  persons.map((one, index) => html`${index > 0 && ', '}${person(one)}`);
