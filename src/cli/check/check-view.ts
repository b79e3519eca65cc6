import type { CheckProgress } from '../../trust/check/check-environment.ts';
import { countText } from '../amounts.ts';
import { colors } from '../terminal.ts';

const CLEAR_LINE = '\r\u001b[K';
const EVERY_MS = 100;

export interface CheckView extends Disposable {
  show(progress: CheckProgress): void;
  clear(): void;
}

/** A line at the end of the terminal that counts the sessions that were played. Elsewhere nothing. */
export function createCheckView(): CheckView {
  let shownAt = 0;
  const clear = () => {
    if (shownAt > 0) process.stderr.write(CLEAR_LINE);
    shownAt = 0;
  };
  return {
    show({ environment, sessions }) {
      const now = performance.now();
      if (process.stderr.isTTY !== true || now - shownAt < EVERY_MS) return;
      shownAt = now;
      process.stderr.write(`${CLEAR_LINE}${colors.dim(`  ${environment}: ${countText(sessions, 'session')}`)}`);
    },
    clear,
    [Symbol.dispose]: clear,
  };
}
