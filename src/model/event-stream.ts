/**
 * Reads the lines of an event stream as its bytes come, and gives the `data` of each event, whatever its name is. A body
 * that is no event stream at all, JSON of a server that does not say so, is given as a whole at the end.
 */
export class EventStreamReader {
  readonly #onData: (data: string) => void;
  readonly #decoder = new TextDecoder();
  #unread = '';
  #data: string[] = [];
  /** Lines that belong to no event; undefined from the first event on. */
  #stray: string[] | undefined = [];

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  add(bytes: Uint8Array): void {
    this.#unread += this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the end may be half of a line break.
    const lines = this.#unread.split(/\r\n|\n|\r(?!$)/);
    this.#unread = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  }

  /** Nothing more comes: what an unfinished last event holds counts too. */
  end(): void {
    if (this.#unread !== '') this.#addLine(this.#unread.trimEnd());
    this.#unread = '';
    if (this.#data.length > 0) this.#give(this.#data);
    else if (this.#stray !== undefined && this.#stray.length > 0) this.#give(this.#stray);
  }

  #addLine(line: string): void {
    if (line.startsWith('data:')) this.#data.push(line.slice(5).trimStart());
    else if (!EVENT_LINE.test(line)) this.#stray?.push(line);
    else if (line === '' && this.#data.length > 0) this.#give(this.#data);
  }

  #give(lines: readonly string[]): void {
    this.#data = [];
    this.#stray = undefined;
    this.#onData(lines.join('\n'));
  }
}

/** A field of an event, a comment, or the line between two events. */
const EVENT_LINE = /^(?:(?:event|id|retry|data)?:|\s*$)/;
