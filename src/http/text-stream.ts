/** What may wait for a reader before it counts as gone. */
const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024;

/**
 * Text that is pushed on one side and read on the other, as it comes: the body of a reply that is streamed. One reader.
 * What was pushed before it reads is given in one piece.
 */
export class TextStream implements AsyncIterable<string> {
  #waiting = '';
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** True where the reader does not keep up: there is no use in going on. */
  get isOverfull(): boolean {
    return this.#waiting.length > MAX_WAITING_CHARACTERS;
  }

  push(text: string): void {
    if (this.#isEnded) return;
    this.#waiting += text;
    this.#wake?.();
  }

  /** What was pushed is still read. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      if (this.#waiting !== '') {
        const text = this.#waiting;
        this.#waiting = '';
        yield text;
      } else if (this.#isEnded) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }
}
