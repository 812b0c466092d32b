const NO_OVERLOAD = /^no such overload: (?<left>\S+) (?<operator>\S+) (?<right>\S+)$/;
const EXAMPLES = { decimal: 'decimal("50000")', money: 'money("50000", "CNY")' } as const;

/**
 * What to write where an exact number meets something else, which the type checker only says does not go together;
 * empty for every other fault.
 */
export function overloadHint(summary: string): string {
  const { left, operator, right } = NO_OVERLOAD.exec(summary)?.groups ?? {};
  const types = [left, right];
  if (operator === '*' && left === 'money') return `; write the factor as a decimal: ${EXAMPLES.decimal}`;
  // Nothing is divided by money, nor money by anything.
  if (operator === '/' && types.includes('money')) return '';
  for (const type of ['money', 'decimal'] as const)
    if (types.includes(type)) return `; write both sides as ${type}: ${EXAMPLES[type]}`;
  return '';
}
