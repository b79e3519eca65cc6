import type { CheckProgress } from '../../trust/check/check-environment.ts';
import { countText } from '../amounts.ts';
import { colors, printable } from '../terminal.ts';

const CLEAR_LINE = '\r\u001b[K';
const EVERY_MS = 100;
/** Characters: a longer line could not be cleared. */
const MAX_WIDTH = 100;
/** Where no terminal shows it: a line for the log of a machine, which ends what says nothing for long. */
const LINE_EVERY_MS = 30_000;

export interface CheckView extends Disposable {
  show(progress: CheckProgress): void;
  clear(): void;
}

/** A line at the end of the terminal: what is tried, for how long, and how many sessions were played. Elsewhere one line for each half of a minute. */
export function createCheckView(): CheckView {
  let shownAt = 0;
  let toldAt = performance.now();
  const clear = () => {
    if (shownAt > 0) process.stderr.write(CLEAR_LINE);
    shownAt = 0;
  };
  return {
    show({ environment, sessions, elapsedMs, maxMs, task }) {
      const now = performance.now();
      const time = `${Math.round(elapsedMs / 1_000)} of at most ${Math.round(maxMs / 1_000)} s`;
      const text = printable(`${environment}: ${countText(sessions, 'session')}, ${time}, ${task}`, MAX_WIDTH);
      if (process.stderr.isTTY !== true) {
        if (now - toldAt < LINE_EVERY_MS) return;
        toldAt = now;
        process.stderr.write(`${text}\n`);
        return;
      }
      if (now - shownAt < EVERY_MS) return;
      shownAt = now;
      process.stderr.write(`${CLEAR_LINE}${colors.dim(`  ${text}`)}`);
    },
    clear,
    [Symbol.dispose]: clear,
  };
}
