import { setMaxListeners } from 'node:events';

/** npm and npx pass on a signal that the terminal has sent to this process too: one press arrives twice. */
const SAME_PRESS_MS = 500;
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export interface StopRequest extends Disposable {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * Lets a command end in order: the first SIGINT or SIGTERM aborts the signal, a second press ends the process at once.
 * Disposing of it gives the signals back to Node.js.
 */
export function listenForStop(onStop: () => void = () => {}): StopRequest {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one for each run that goes on
  let stoppedAt: number | undefined;
  const onSignal = (name: keyof typeof EXIT_CODES) => {
    if (stoppedAt === undefined) {
      stoppedAt = performance.now();
      onStop();
      controller.abort(new Error(`Stopped by ${name}`));
    } else if (performance.now() - stoppedAt > SAME_PRESS_MS) {
      process.exit(EXIT_CODES[name]);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}

/** Resolves once the signal is aborted. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
