/**
 * Waits for every promise, then answers in order or throws the first fault: nothing is left running behind the back
 * of whoever handles it.
 */
export async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(promises);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
