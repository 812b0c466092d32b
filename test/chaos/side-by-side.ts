/** Does `work` for 0 to `count - 1`, a few at a time; gives the results in order. */
export async function sideBySide<T>(
  count: number,
  work: (index: number) => Promise<T>,
  width = 8,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}
