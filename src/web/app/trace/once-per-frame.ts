/**
 * Work that is done in the next frame, however often it is asked for until then. A tab in the background has no frames:
 * what it shows is not seen either.
 *
 * @param signal aborted: nothing is done any more.
 */
export function oncePerFrame(signal: AbortSignal, work: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      if (!signal.aborted) work();
    });
  };
}
