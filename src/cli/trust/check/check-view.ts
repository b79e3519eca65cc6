import type { CheckProgress } from '../../../contract/service/check.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { countText } from '../../../support/text/figures.ts';
import { colors, printable } from '../../base/terminal.ts';

const CLEAR_LINE = '\r\u001b[K';
/** Most characters of a line. A longer one would wrap and could not be cleared. */
const MAX_WIDTH = 100;
export interface CheckView extends Disposable {
  show(progress: CheckProgress): void;
  clear(): void;
}

/**
 * Shows on a terminal what is being tried, for how long, and the number of sessions. Elsewhere it prints a line
 * every 30 s.
 */
export function createCheckView(): CheckView {
  let shownAt = 0;
  let toldAt = performance.now();
  const clear = () => {
    if (shownAt > 0) process.stderr.write(CLEAR_LINE);
    shownAt = 0;
  };
  return {
    show({ environment, sessions, elapsed_ms: elapsedMs, max_ms: maxMs, task }) {
      const now = performance.now();
      const time = `${Math.round(elapsedMs / 1_000)} of at most ${Math.round(maxMs / 1_000)} s`;
      const text = printable(`${environment}: ${countText(sessions, 'session')}, ${time}, ${task}`, MAX_WIDTH);
      if (process.stderr.isTTY !== true) {
        if (now - toldAt < PERIODS_MS.checkLines) return;
        toldAt = now;
        process.stderr.write(`${text}\n`);
        return;
      }
      if (now - shownAt < PERIODS_MS.checkRedraws) return;
      shownAt = now;
      process.stderr.write(`${CLEAR_LINE}${colors.dim(`  ${text}`)}`);
    },
    clear,
    [Symbol.dispose]: clear,
  };
}
