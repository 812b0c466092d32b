import type { AnyHookKind } from '../src/hook/hook-kind.ts';
import { auditLog } from './audit-log.ts';
import { connectorRateLimit } from './connector-rate-limit.ts';
import { readOnlyGuard } from './read-only-guard.ts';
import { resultTruncate } from './result-truncate.ts';
import { sessionContext } from './session-context.ts';

/**
 * Every hook that a configuration can declare. Not among them: the confirmation gate, which every agent has. The order
 * here means nothing; hooks run by priority, then in the order in which an agent declares them.
 */
export const HOOK_KINDS: readonly AnyHookKind[] = [
  auditLog,
  connectorRateLimit,
  readOnlyGuard,
  resultTruncate,
  sessionContext,
];
