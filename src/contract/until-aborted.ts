/**
 * Settles as the promise does, or rejects with the reason of the signal, as an Error, if that comes first. What the
 * promise comes to afterwards is dropped, so that it is never an unhandled rejection. Leaves no listener behind.
 */
export async function untilAborted<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
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
