import { clockTime, element } from '/chat/element.js';

export function ledgerItems({ ledger }, texts) {
  const { payments, totals } = ledger;
  if (payments.length === 0) {
    return [
      {
        key: 'empty',
        version: texts.emptyLedger,
        draw: () => element('p', { class: 'empty' }, texts.emptyLedger),
      },
    ];
  }
  return [
    ...payments.map((payment) => ({
      key: payment.id,
      version: payment.id,
      draw: () => drawPayment(payment),
    })),
    {
      key: 'totals',
      version: JSON.stringify([totals, texts.total]),
      draw: () =>
        element(
          'div',
          { class: 'totals' },
          Object.entries(totals).map(([currency, sum]) =>
            element(
              'p',
              {},
              element('span', {}, texts.total),
              element('strong', {}, `${grouped(sum)} ${currency}`),
            ),
          ),
        ),
    },
  ];
}

const drawPayment = ({ id, at, payee, amount, currency, memo }) =>
  element(
    'div',
    { class: 'payment', 'data-amount': amount },
    element('div', {}, element('strong', {}, payee), memo === null ? null : element('small', {}, memo)),
    element(
      'div',
      { class: 'amount' },
      `${grouped(amount)} ${currency}`,
      element('small', {}, `${id} · ${clockTime(at)}`),
    ),
  );

/** `68000.00` → `68,000.00`: the digits are never read as a number. */
const grouped = (amount) => amount.replace(/\B(?=(\d{3})+(?!\d))/g, ',');

/** The audit events, newest first. */
export function recordItems({ record }, texts) {
  if (record.events.length === 0) {
    return [
      {
        key: 'empty',
        version: texts.emptyRecord,
        draw: () => element('p', { class: 'empty' }, texts.emptyRecord),
      },
    ];
  }
  return record.events.toReversed().map((event) => ({
    key: event.id,
    version: texts.send,
    draw: () => drawEvent(event, texts),
  }));
}

function drawEvent(event, texts) {
  return element(
    'div',
    { class: 'event', 'data-kind': event.kind, title: `${event.kind} ${event.hash}` },
    element('span', { class: 'seq' }, String(event.seq)),
    element('time', {}, clockTime(event.at)),
    element('span', { class: 'kind' }, texts.kinds[event.kind] ?? event.kind),
    element('span', { class: 'actor' }, event.actor.name),
    element('span', { class: 'what' }, whatOf(event.data)),
    element('code', { class: 'hash' }, event.hash.replace(/^sha256:/, '').slice(0, 10)),
  );
}

/** The words of an event's data that tell most, as the record holds them. */
const whatOf = (data) =>
  ['tool', 'verdict', 'status', 'code', 'reason', 'channel']
    .map((name) => data[name])
    .filter((value) => typeof value === 'string' && value !== '')
    .filter((value, place, all) => all.indexOf(value) === place)
    .join(' · ');

export function chainPill({ record }, texts) {
  const { verification } = record;
  if (verification === null) return { text: texts.chainWaiting, state: 'waiting' };
  return verification.ok
    ? { text: texts.chainOk(verification.events), state: 'good' }
    : { text: texts.chainBad(verification.firstBad.reason), state: 'bad' };
}
