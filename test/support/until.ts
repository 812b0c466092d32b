/** Asks `condition` until it gives something other than null, undefined or false; throws after `deadlineMs`. */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: { readonly deadlineMs?: number; readonly what?: string } = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + (options.deadlineMs ?? 10_000);
  for (;;) {
    const value = await condition();
    if (value !== null && value !== undefined && value !== false) return value as NonNullable<T>;
    if (Date.now() > deadline)
      throw new Error(`Not reached in time: ${options.what ?? condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
