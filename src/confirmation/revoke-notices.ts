import { assertNever } from '../assert-never.ts';
import type { Notice } from '../channel/card.ts';
import { visibleText } from '../channel/visible-text.ts';
import type { ConfirmationRequest } from './confirmation-request.ts';
import type { RevokeOutcome } from './confirmation-service.ts';
import { NOTICES, REFUSALS } from './notices.ts';
import { zonedTime } from './zoned-time.ts';

/** What became of a person's tap on the revoke button, in a sentence for that person. Times are read in `timeZone`. */
export function revokeNoticeOf(outcome: RevokeOutcome, timeZone: string): Notice {
  switch (outcome.kind) {
    case 'revoked':
      return REVOKE_NOTICES.revoked;
    case 'repeated':
      return revokedBefore(outcome.request, timeZone);
    case 'refused':
      switch (outcome.code) {
        case 'not_an_approver':
        case 'inactive_person':
          return REFUSALS[outcome.code];
        case 'not_approved':
          return REVOKE_NOTICES.notApproved;
        case 'already_claimed':
          return REVOKE_NOTICES.tooLate;
        case 'lapsed':
          return REVOKE_NOTICES.lapsed;
        default:
          return assertNever(outcome.code);
      }
    case 'not-found':
      return NOTICES.mismatch;
    default:
      return assertNever(outcome);
  }
}

export const REVOKE_NOTICES = {
  revoked: {
    level: 'success',
    text: { 'zh-CN': '已撤回批准，不会执行。', 'en-US': 'The approval is revoked. It will not run.' },
  },
  notApproved: {
    level: 'warning',
    text: {
      'zh-CN': '这次请求没有获批，没有可撤回的批准。',
      'en-US': 'This request is not approved, so there is nothing to revoke.',
    },
  },
  tooLate: {
    level: 'warning',
    text: {
      'zh-CN': '已经开始执行，无法撤回。结果会显示在卡片上。',
      'en-US': 'Too late to revoke: it has started to run. The card will show what becomes of it.',
    },
  },
  lapsed: {
    level: 'info',
    text: {
      'zh-CN': '批准已过期失效，不会执行，无需撤回。',
      'en-US': 'The approval ran out unused; it will not run, and there is nothing to revoke.',
    },
  },
} as const satisfies Record<string, Notice>;

function revokedBefore(request: ConfirmationRequest, timeZone: string): Notice {
  if (request.status !== 'approved' || request.execution.status !== 'revoked')
    return REVOKE_NOTICES.notApproved;
  const { by, at } = request.execution;
  const time = zonedTime(at, timeZone);
  const name = by === null ? null : visibleText(by.name).text;
  return {
    level: 'info',
    text: {
      'zh-CN': `批准已于 ${time} ${name === null ? '' : `由 ${name} `}撤回，无变化。`,
      'en-US': `Already revoked${name === null ? '' : ` by ${name}`} at ${time}; nothing changed.`,
    },
  };
}
