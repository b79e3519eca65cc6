const SECOND_MS = 1_000;
/** To the start of the line, and away with what is there. */
const CLEAR_LINE = '\r\u001b[K';

/** A line at the end of a terminal that counts how long something takes: `running… 7 s`. It is gone when that is over. */
export class SecondsLine {
  readonly #write: (text: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Does nothing where it counts already. */
  start(): void {
    if (this.#timer !== undefined) return;
    let seconds = 0;
    this.#timer = setInterval(() => {
      seconds += 1;
      this.#isShown = true;
      this.#write(`${CLEAR_LINE}  running… ${seconds} s`);
    }, SECOND_MS);
    this.#timer.unref();
  }

  /** Makes room for another line; it comes back under that one. */
  clear(): void {
    if (this.#isShown) this.#write(CLEAR_LINE);
    this.#isShown = false;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.clear();
  }
}
