/** How a hook failed. Whatever the kind, its `onError` says what follows. */
export type HookFailureReason = 'threw' | 'timed_out' | 'bad_result' | 'invalid_arguments';

/** For the record and the log of the operators; the model and the chats never see any of it. */
export interface HookFailure {
  readonly hook: string;
  readonly point: string;
  readonly reason: HookFailureReason;
  /** One bounded text: what was thrown, or what was wrong with the answer. */
  readonly detail: string;
}

/**
 * Told about each failure before its consequences take effect. A throw (the failure cannot be recorded) ends a
 * dispatch that decides as if the hook had denied, and an observer's dispatch not at all.
 */
export type OnHookFailed = (failure: HookFailure) => void | Promise<void>;

const LONGEST_DETAIL = 500;

/** Whatever was thrown, as a bounded text without a stack trace; never throws, whatever it is. */
export function describeThrown(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
    // Through UTF-8, so that a surrogate pair cut in two does not reach the database.
    return Buffer.from(text.slice(0, LONGEST_DETAIL)).toString();
  } catch {
    return 'something that cannot be shown was thrown';
  }
}
