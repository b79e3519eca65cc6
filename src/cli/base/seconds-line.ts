import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { startTicker, type Ticker } from '../../support/runtime/ticker.ts';

/** Moves to the start of the line and clears it. */
const CLEAR_LINE = '\r\u001b[K';

/** A line that counts seconds at the end of the terminal: `running… 7 s`. It is removed at the end. */
export class SecondsLine {
  readonly #write: (text: string) => void;
  #ticker: Ticker | undefined;
  #isShown = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Has no effect while it counts. */
  start(): void {
    if (this.#ticker !== undefined) return;
    let seconds = 0;
    this.#ticker = startTicker(() => {
      seconds += 1;
      this.#isShown = true;
      this.#write(`${CLEAR_LINE}  running… ${seconds} s`);
    }, PERIODS_MS.redraws);
  }

  /** Hides the line so that another can be printed; the next tick shows it again. */
  clear(): void {
    if (this.#isShown) this.#write(CLEAR_LINE);
    this.#isShown = false;
  }

  stop(): void {
    this.#ticker?.stop();
    this.#ticker = undefined;
    this.clear();
  }
}
