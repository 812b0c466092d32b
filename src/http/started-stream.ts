/**
 * Fetches the first item before anything is answered: a source that cannot be read at all then gets an error answer
 * instead of a stream that breaks off, and an empty one can be told apart.
 */
export async function startStream<T>(source: AsyncIterable<T>): Promise<StartedStream<T>> {
  const iterator = source[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done) return { kind: 'empty' };
  return { kind: 'items', items: continued(first.value, iterator) };
}

export type StartedStream<T> =
  | { readonly kind: 'empty' }
  | { readonly kind: 'items'; readonly items: AsyncGenerator<T, void, undefined> };

async function* continued<T>(first: T, iterator: AsyncIterator<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield first;
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}
