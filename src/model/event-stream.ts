import { GatewayFailure } from './gateway-failure.ts';

/** Characters of one line: a longer one is no chunk of a response. */
const MAX_LINE_CHARACTERS = 8 * 1024 * 1024;

/**
 * Reads the lines of an event stream as its bytes come, and gives the `data` of each event, whatever its name is. A body
 * that is no event stream at all, JSON of a server that does not say so, is given as a whole at the end.
 */
export class EventStreamReader {
  readonly #onData: (data: string) => void;
  readonly #decoder = new TextDecoder();
  /** Pieces of a line that has not ended: joined once, however many there are. */
  #line: string[] = [];
  #lineLength = 0;
  #endsWithReturn = false;
  #data: string[] = [];
  /** Lines that belong to no event; undefined from the first event on. */
  #stray: string[] | undefined = [];

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  /** @throws GatewayFailure for a line that is far too long. */
  add(bytes: Uint8Array): void {
    let text = this.#decoder.decode(bytes, { stream: true });
    // The other half of a line break.
    if (this.#endsWithReturn && text.startsWith('\n')) text = text.slice(1);
    this.#endsWithReturn = text === '' ? this.#endsWithReturn : text.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? '';
    for (const line of lines) this.#endLine(line);
    this.#keep(rest);
  }

  /** Nothing more comes: what an unfinished last event holds counts too. */
  end(): void {
    if (this.#lineLength > 0) this.#endLine('');
    if (this.#data.length > 0) this.#give(this.#data);
    else if (this.#stray !== undefined && this.#stray.length > 0) this.#give(this.#stray);
  }

  #keep(piece: string): void {
    if (piece === '') return;
    this.#line.push(piece);
    this.#lineLength += piece.length;
    if (this.#lineLength > MAX_LINE_CHARACTERS) {
      throw new GatewayFailure('answered', `the reply has a line of more than ${MAX_LINE_CHARACTERS} characters`);
    }
  }

  #endLine(last: string): void {
    if (this.#line.length === 0) {
      this.#addLine(last);
      return;
    }
    this.#keep(last);
    const line = this.#line.join('');
    this.#line = [];
    this.#lineLength = 0;
    this.#addLine(line);
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
