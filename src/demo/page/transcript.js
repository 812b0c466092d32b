import { clockTime, element } from '/chat/element.js';

/** The agent's runs, oldest first: what was asked, each call with what became of it, the answer. */
export function transcriptItems(state, texts) {
  if (state.runs.length === 0) {
    return [
      {
        key: 'empty',
        version: texts.emptyTranscript,
        draw: () => element('p', { class: 'empty' }, texts.emptyTranscript),
      },
    ];
  }
  return state.runs.map((run) => ({
    key: run.id,
    version: JSON.stringify([run, texts.send]),
    draw: () => drawRun(run, texts),
  }));
}

function drawRun(run, texts) {
  return element(
    'article',
    { class: 'run', 'data-status': run.status },
    element('time', {}, clockTime(run.createdAt)),
    element('div', { class: 'said user' }, run.input),
    run.invocations.map((call) => drawCall(call, texts)),
    run.status === 'waiting' ? element('p', { class: 'held' }, texts.thinking) : null,
    run.output === null ? null : element('div', { class: 'said answer' }, run.output),
    run.error === null
      ? null
      : element('div', { class: 'said answer bad' }, `${texts.runFailed} ${run.error.message}`),
  );
}

function drawCall(call, texts) {
  const because = call.error && (texts.blockedBecause[call.error.code] ?? call.error.code);
  const status = texts.callStatus[call.status] ?? call.status;
  return element(
    'div',
    { class: 'call', 'data-status': call.status },
    element(
      'div',
      { class: 'call-head' },
      element('code', {}, call.tool),
      element('span', { class: 'status' }, status),
    ),
    element(
      'dl',
      {},
      inReadingOrder(call.args).map(([name, value]) => [
        element('dt', {}, name),
        element('dd', {}, typeof value === 'string' ? value : JSON.stringify(value)),
      ]),
    ),
    because ? element('p', { class: 'because' }, because) : null,
    call.result === null ? null : element('pre', { class: 'result' }, JSON.stringify(call.result)),
  );
}

const FIRST = ['payee', 'amount', 'currency'];

/** Stored arguments have no order of their own; what matters most comes first. */
const inReadingOrder = (args) =>
  Object.entries(args).toSorted(([left], [right]) => placeOf(left) - placeOf(right));

const placeOf = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
