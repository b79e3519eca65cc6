import { pathToFileURL } from 'node:url';
import { builtFile } from '../../runtime/built-file.ts';

/** Another weekday, month, hour and minute. */
const SHIFT_MS = ((39 * 24 + 5) * 60 + 17) * 60_000;

/** Variables of a process of Node.js that make it load a file of this package before anything else. */
export function preloading(
  file: string,
  variables: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { NODE_OPTIONS = '' } = process.env;
  const options = `${NODE_OPTIONS} --import=${pathToFileURL(builtFile(file)).href}`.trim();
  return { ...variables, NODE_OPTIONS: options };
}

/** Variables of a process whose clock is another day's. */
export function shiftedClock(): Readonly<Record<string, string>> {
  return preloading('trust/check/preload-clock.js', { CHECK_CLOCK_SHIFT_MS: String(SHIFT_MS) });
}
