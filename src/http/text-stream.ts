/** Limits of the text that waits for a reader: one that reads nothing for so long, and one that is slow. */
const MAX_WAITING = { characters: 8 * 1024 * 1024, milliseconds: 10_000, charactersInAll: 128 * 1024 * 1024 } as const;

/** Where the text of a stream goes. */
export interface TextSink {
  /** @returns false where no more should come until `drained` is called. */
  write(text: string): boolean;
  end(): void;
  /** Closes the connection of a reader that is too slow. */
  cut(): void;
}

/**
 * Text that is pushed on one side and read on the other: the body of a reply that is streamed. It is handed on as it
 * comes, in the same tick; what was pushed before there is a reader, or faster than it reads, waits and goes in one piece.
 */
export class TextStream {
  #waiting = '';
  #isEnded = false;
  #isCut = false;
  #isBlocked = false;
  /** Since when its reader has taken nothing, on the clock of `performance.now`. */
  #blockedAt = 0;
  #sink: TextSink | undefined;
  #whenFlowing: (() => void)[] = [];

  /** True while the reader takes nothing more: what is pushed now has to wait. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Resolves once the reader takes text: for a writer that has all the time. Whoever gives up waiting need not say so. */
  async flowing(): Promise<void> {
    if (this.#isBlocked) await new Promise<void>((resolve) => this.#whenFlowing.push(resolve));
  }

  /** True where the reader does not keep up: there is no use in going on. */
  get isOverfull(): boolean {
    const { length } = this.#waiting;
    if (length <= MAX_WAITING.characters) return false;
    const isStuck = this.#isBlocked && performance.now() - this.#blockedAt > MAX_WAITING.milliseconds;
    return isStuck || length > MAX_WAITING.charactersInAll;
  }

  push(text: string): void {
    if (this.#isEnded) return;
    this.#waiting += text;
    this.#flush();
  }

  /** Ends the stream; text that was pushed before is still read. */
  end(): void {
    this.#isEnded = true;
    this.#flush();
  }

  /** Ends the stream of a reader that is too slow: what waits for it is dropped, and its connection is closed. */
  cut(): void {
    this.#isEnded = true;
    this.#isCut = true;
    this.#waiting = '';
    this.#sink?.cut();
    this.#sink = undefined;
  }

  /** Hands everything to the sink. One reader. */
  readTo(sink: TextSink): void {
    if (this.#isCut) {
      sink.cut();
      return;
    }
    this.#sink = sink;
    this.#flush();
  }

  /** The sink takes text again. */
  drained(): void {
    this.#isBlocked = false;
    this.#flush();
    if (this.#isBlocked) return;
    for (const resolve of this.#whenFlowing.splice(0)) resolve();
  }

  #flush(): void {
    const sink = this.#sink;
    if (sink === undefined || this.#isBlocked) return;
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') this.#isBlocked = !sink.write(text);
    if (this.#isBlocked) this.#blockedAt = performance.now();
    if (!this.#isEnded) return;
    this.#sink = undefined;
    sink.end();
  }
}
