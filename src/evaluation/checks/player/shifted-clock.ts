import { pathToFileURL } from 'node:url';
import { builtFile } from '../../../support/runtime/built-file.ts';

/** Shift of the clock in milliseconds, to another weekday, month, hour and minute. */
const SHIFT_MS = ((39 * 24 + 5) * 60 + 17) * 60_000;

/**
 * Variables that make a Node.js process load a file of this package before anything else.
 *
 * @param ownOptions `NODE_OPTIONS` that the process would have. Default: those of this process.
 */
export function preloading(
  file: string,
  variables: Readonly<Record<string, string>>,
  ownOptions: string = process.env.NODE_OPTIONS ?? '',
): Readonly<Record<string, string>> {
  const options = `${ownOptions} --import=${pathToFileURL(builtFile(file)).href}`.trim();
  return { ...variables, NODE_OPTIONS: options };
}

/** Variables of a process whose clock shows another day. */
export function shiftedClock(): Readonly<Record<string, string>> {
  return preloading('evaluation/checks/player/preload-clock.js', { CHECK_CLOCK_SHIFT_MS: String(SHIFT_MS) });
}
