/**
 * Works on several items at once, and yields their results in the order of the items.
 *
 * @throws the error of the first item in order that fails; work that has begun ends before
 */
export async function* mapInOrder<Item, Result>(
  items: readonly Item[],
  parallel: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<{ item: Item; result: Result }> {
  const begun: { item: Item; result: Promise<Result> }[] = [];
  let next = 0;
  const begin = (): void => {
    const item = items[next++]!; // see below
    const result = work(item);
    result.catch(() => {}); // thrown when its turn comes
    begun.push({ item, result });
  };
  try {
    while (next < items.length || begun.length > 0) {
      while (next < items.length && begun.length < parallel) begin();
      const { item, result } = begun.shift()!; // at least one has begun
      yield { item, result: await result };
    }
  } finally {
    await Promise.allSettled(begun.map(({ result }) => result));
  }
}
