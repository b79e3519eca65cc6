/**
 * Runs the work on every item, with at most `atOnce` in progress. After a failure no more work starts; work in progress
 * is awaited.
 */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries();
  let failure: { readonly error: unknown } | undefined;
  const next = async () => {
    for (const [index, item] of waiting) {
      if (failure !== undefined) return;
      try {
        await work(item, index);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, next));
  if (failure !== undefined) throw failure.error;
}
