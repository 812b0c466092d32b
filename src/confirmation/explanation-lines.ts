import { assertNever } from '../assert-never.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { Locale } from '../locale.ts';
import type { ExplainedName, ExplainedPerson, Explanation } from './explanation.ts';
import { EXPLANATION_TEXTS, type ExplanationTexts } from './explanation-texts.ts';
import { DEFAULT_POLICY_ID } from './policy-evaluator.ts';
import type { PolicyTrial } from './policy-trial.ts';

/** An explanation as a person reads it, line by line. The same for a stored request and for a call that is tried out. */
export function explanationLines(explanation: Omit<Explanation, 'rule'>, locale: Locale): readonly string[] {
  const texts = EXPLANATION_TEXTS[locale];
  const { call, trials, people, quorum } = explanation;
  const lines = [
    texts.call(call.tool, call.agent, call.requester && named(call.requester)),
    answerLine(explanation, texts),
    ...(call.verificationCode === null ? [] : [texts.verificationCode(call.verificationCode)]),
    ...(call.argsDigest === null ? [] : [texts.digest(call.argsDigest)]),
    '',
    ...(trials === null
      ? [texts.rulesUnknown]
      : [texts.rules, ...trials.map((trial, index) => `  ${index + 1}. ${trialLine(trial, texts)}`)]),
  ];
  if (people.length > 0) lines.push('', texts.people, ...people.map((person) => personLine(person, texts)));
  if (quorum !== null) {
    const who = quorum.approvedBy.map(({ person, seat }) =>
      seat.id === person.id ? named(person) : texts.standsFor(named(person), named(seat)),
    );
    const by = who.length === 0 ? null : texts.list(who);
    const missing = quorum.missing === 0 ? [] : [texts.missing(quorum.missing)];
    lines.push('', texts.clauses([texts.quorum(quorum.given, quorum.needed, by), ...missing]));
  }
  lines.push(...linesOfNow(explanation.now, texts), texts.revision(explanation.configRevision));
  return lines.map((line) => visibleText(line).text);
}

function linesOfNow(now: Explanation['now'], texts: ExplanationTexts): readonly string[] {
  if (now === null) return [];
  const { freezes, readOnly, toolChanged, coolingOffUntil } = now;
  return [
    ...freezes.map((freeze) => texts.heldByFreeze(freeze, named(freeze.startedBy))),
    ...(readOnly === null ? [] : [texts.readOnly[readOnly]]),
    ...(toolChanged ? [texts.toolChanged] : []),
    ...(coolingOffUntil === null ? [] : [texts.coolingOff(coolingOffUntil)]),
  ];
}

function answerLine({ answer }: Pick<Explanation, 'answer'>, texts: ExplanationTexts): string {
  switch (answer.kind) {
    case 'asked':
      return texts.asked(answer.policy, answer.status);
    case 'allowed':
      return texts.allowed;
    case 'denied':
      return texts.denied(answer.message);
    default:
      return assertNever(answer);
  }
}

function trialLine(trial: PolicyTrial, texts: ExplanationTexts): string {
  const { policy, tools, when, outcome, reads } = trial;
  const looked = reads.length === 0 ? null : texts.list(reads);
  const condition = when === null ? texts.always : texts.holds(when, looked);
  const isDefault = policy === DEFAULT_POLICY_ID;
  const says = (): string => {
    switch (outcome) {
      case 'tool_not_covered':
        return texts.notCovered(texts.list(tools));
      case 'condition_false':
        return texts.holdsNot(when ?? '', looked);
      case 'passed_over':
        return texts.clauses([texts.passedOver(trial.stricter ?? ''), condition]);
      case 'failed':
        return texts.failed(trial.message ?? '');
      case 'decided':
        return isDefault ? texts.decidesFlagged : texts.clauses([texts.decides, condition]);
      case 'not_flagged':
        return texts.notFlagged;
      case 'raised':
        return texts.clauses([texts.raises, condition]);
      default:
        return assertNever(outcome);
    }
  };
  return `${policy}: ${says()}`;
}

function personLine(explained: ExplainedPerson, texts: ExplanationTexts): string {
  const { person, through, mayApprove, obstacles, away } = explained;
  const by = through.length === 0 ? '–' : texts.list(through);
  const why =
    obstacles.length === 0 ? texts.notASeat : texts.list(obstacles.map((code) => texts.obstacles[code]));
  const says = mayApprove ? texts.may(by) : texts.mayNot(why, by);
  const parts =
    away === null ? [says] : [says, texts.away(away.from, away.until), ...delegateOf(away, texts)];
  return `  ${named(person)}: ${texts.clauses(parts)}`;
}

function delegateOf(away: NonNullable<ExplainedPerson['away']>, texts: ExplanationTexts): readonly string[] {
  const { delegate } = away;
  if (delegate === null) return [];
  const name = named(delegate.person);
  if (delegate.obstacles.length === 0) return [delegate.isSeated ? texts.seated(name) : texts.delegate(name)];
  return [texts.delegateNot(name, texts.list(delegate.obstacles.map((code) => texts.obstacles[code])))];
}

const named = ({ id, name }: ExplainedName): string => `${name} (${id})`;
