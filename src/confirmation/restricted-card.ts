import type { CardInLanguage } from '../channel/card.ts';
import type { CardView } from '../channel/card-source.ts';
import type { CardTexts } from './card-texts.ts';

/**
 * The same card with less on it, for a platform that refused it: other people's words go first, then the arguments. What
 * is left out is said, and the link leads to the whole.
 */
export function restrictedCard(card: CardInLanguage, view: CardView, texts: CardTexts): CardInLanguage {
  if (view === 'whole') return card;
  const ours = withoutWords(card, texts);
  if (view === 'decisive-only') {
    return {
      ...ours,
      lines: decisiveOf(card),
      warnings: [texts.warnings.redacted, ...card.warnings],
    };
  }
  const { actions } = card;
  return {
    ...ours,
    // Without the amount, which stands in the usual one.
    title: `${texts.states[card.state]} · ${card.tool}`,
    lines: [],
    warnings: [texts.warnings.withheld],
    actions: actions.kind === 'decide' ? { ...actions, approvable: false } : actions,
  };
}

/** What stays of a card in a message that nobody can act on any more. */
export const movedCard = (card: CardInLanguage, texts: CardTexts): CardInLanguage => ({
  ...withoutWords(card, texts),
  title: `${texts.moved} · ${card.title}`,
  lines: decisiveOf(card),
  warnings: [texts.warnings.moved],
  actions: { kind: 'none' },
});

/** Without what an agent or a person wrote beside the arguments. */
function withoutWords(card: CardInLanguage, texts: CardTexts): CardInLanguage {
  const words: ReadonlySet<string> = new Set([
    ...[texts.facts.session, texts.outcome.reason, texts.outcome.detail, texts.outcome.revokeReason],
  ]);
  const kept = (facts: CardInLanguage['facts']) => facts.filter(({ label }) => !words.has(label));
  return {
    ...card,
    summary: null,
    // Every line but those that decide goes, and that is said.
    linesLeftOut: 0,
    facts: kept(card.facts),
    references: kept(card.references),
    outcome: kept(card.outcome),
  };
}

const decisiveOf = (card: CardInLanguage) => card.lines.filter(({ decisive }) => decisive);
