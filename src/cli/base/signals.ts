import { setMaxListeners } from 'node:events';

/** npm and npx forward a signal that the terminal has already sent to this process, so one key press arrives twice. */
const SAME_PRESS_MS = 500;
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

export interface StopRequest extends Disposable {
  /** Aborted by the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * Lets a command stop in order. The first SIGINT or SIGTERM aborts the signal; a second key press exits at once.
 * Disposing removes the signal handlers.
 */
export function listenForStop(onStop: () => void = () => {}): StopRequest {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // Each active run adds a listener.
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
