export interface Insisted<T> {
  readonly status: number;
  readonly body: T;
  readonly tries: number;
}

/** Repeats a call that is safe to repeat, as a client does, until it is answered with anything but a fault. */
export async function insist<T>(
  step: () => Promise<{ readonly status: number; readonly body: T }>,
  deadlineMs = 60_000,
): Promise<Insisted<T>> {
  const deadline = Date.now() + deadlineMs;
  for (let tries = 1; ; tries += 1) {
    const answer = await step().catch(() => null);
    if (answer !== null && answer.status < 500) return { ...answer, tries };
    if (Date.now() > deadline) throw new Error(`Not answered in ${deadlineMs} ms, at last ${answer?.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
