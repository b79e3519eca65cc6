/** Limits of unread text: characters of one stream, milliseconds without progress, and characters of all streams. */
const MAX_WAITING = { characters: 8 * 1024 * 1024, milliseconds: 10_000, charactersInAll: 128 * 1024 * 1024 } as const;

/** The destination of a stream's text. */
export interface TextSink {
  /** @returns false when no more text should come until `drained` is called. */
  write(text: string): boolean;
  end(): void;
  /** Closes the connection of a reader that is too slow. */
  cut(): void;
}

/**
 * A stream of text between a writer and one reader: the body of a streamed reply. Text is passed on in the same tick.
 * Text that comes before the reader, or faster than it reads, is buffered and passed on in one piece.
 */
export class TextStream {
  #waiting = '';
  #isEnded = false;
  #isCut = false;
  #isBlocked = false;
  /** Time since which the reader has taken nothing, by `performance.now`. */
  #blockedAt = 0;
  #sink: TextSink | undefined;
  #whenFlowing: (() => void)[] = [];

  /** True while the reader takes no more, so that new text is buffered. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /**
   * Resolves once the reader takes text again, for writers that can wait. A caller may drop the promise at any time.
   */
  async flowing(): Promise<void> {
    if (this.#isBlocked) await new Promise<void>((resolve) => this.#whenFlowing.push(resolve));
  }

  /** True when the reader is too slow, so that the writer should stop. */
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

  /** Ends the stream after the text that was pushed before. */
  end(): void {
    this.#isEnded = true;
    this.#flush();
  }

  /** Ends the stream of a reader that is too slow: drops the buffered text and closes the connection. */
  cut(): void {
    this.#isEnded = true;
    this.#isCut = true;
    this.#waiting = '';
    this.#sink?.cut();
    this.#sink = undefined;
  }

  /** Passes all text to the sink. There can be only one reader. */
  readTo(sink: TextSink): void {
    if (this.#isCut) {
      sink.cut();
      return;
    }
    this.#sink = sink;
    this.#flush();
  }

  /** Called when the sink takes text again. */
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
