/**
 * Waits for `promise` until `signal` is aborted, then rejects with its reason. What the promise comes to afterwards is
 * dropped, so that it is never an unhandled rejection.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
  });
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
