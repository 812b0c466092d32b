/** What one person says about one request. */
export type Verdict = 'approve' | 'reject';

/** When a vote has to say why. */
export const REASON_MODES = ['never', 'on-reject', 'always'] as const;
export type ReasonMode = (typeof REASON_MODES)[number];

export const reasonRequired = (mode: ReasonMode, verdict: Verdict): boolean =>
  mode === 'always' || (mode === 'on-reject' && verdict === 'reject');
