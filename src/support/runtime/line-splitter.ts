/**
 * Splits a stream of text into lines and buffers at most one line of `maxLength` UTF-16 units.
 *
 * A longer line is emitted early: its first `maxLength` units with `isCut` set. Its rest is skipped.
 */
export class LineSplitter {
  readonly #maxLength: number;
  readonly #onLine: (line: string, isCut: boolean) => void;
  /** The pieces of a line. Joining them at each chunk would take minutes for a line of megabytes. */
  #parts: string[] = [];
  #length = 0;
  #isSkipping = false;

  constructor(maxLength: number, onLine: (line: string, isCut: boolean) => void) {
    this.#maxLength = maxLength;
    this.#onLine = onLine;
  }

  push(text: string): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#take(text.slice(start, end));
      this.#endLine();
      start = end + 1;
    }
    if (start < text.length) this.#take(text.slice(start));
  }

  /** Emits the rest of the text when it has no line end. */
  end(): void {
    if (this.#length > 0) this.#endLine();
  }

  #take(part: string): void {
    if (this.#isSkipping) return;
    this.#parts.push(part);
    this.#length += part.length;
    if (this.#length <= this.#maxLength) return;
    this.#isSkipping = true;
    this.#give(true);
  }

  #endLine(): void {
    if (this.#isSkipping) this.#isSkipping = false;
    else this.#give(false);
  }

  #give(isCut: boolean): void {
    const line = this.#parts.join('').slice(0, this.#maxLength);
    this.#parts = [];
    this.#length = 0;
    this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line, isCut);
  }
}
