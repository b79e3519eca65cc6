import { MESSAGE_START } from './wrapper.ts';

/** Bytes of the words of a message. A longer line is output that looks like one. */
const MAX_WORDS = 64;

/** Takes the messages of the wrapper out of an output. Anything else is passed on, at once wherever possible. */
export class MessageFilter {
  readonly #start: Buffer;
  readonly #onWords: (words: string) => void;
  readonly #onOutput: (bytes: Buffer) => void;
  #kept: Buffer = Buffer.alloc(0);

  constructor(secret: string, onWords: (words: string) => void, onOutput: (bytes: Buffer) => void) {
    this.#start = Buffer.from(`${MESSAGE_START}${secret} `);
    this.#onWords = onWords;
    this.#onOutput = onOutput;
  }

  push(chunk: Buffer): void {
    let bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = Buffer.alloc(0);
    for (;;) {
      const at = bytes.indexOf(this.#start);
      if (at === -1) break;
      const from = at + this.#start.length;
      const end = bytes.subarray(from, from + MAX_WORDS).indexOf('\n');
      if (end === -1 && bytes.length - from < MAX_WORDS) {
        this.#pass(bytes.subarray(0, at));
        this.#kept = bytes.subarray(at);
        return;
      }
      if (end === -1) break;
      this.#pass(bytes.subarray(0, at));
      this.#onWords(bytes.toString('latin1', from, from + end).trim());
      bytes = bytes.subarray(from + end + 1);
    }
    const begun = this.#beginningAt(bytes);
    this.#pass(bytes.subarray(0, begun));
    this.#kept = bytes.subarray(begun);
  }

  /** The output is over: what looked like the beginning of a message is output. */
  end(): void {
    this.#pass(this.#kept);
    this.#kept = Buffer.alloc(0);
  }

  /** Index of an end of the bytes with which a message may begin; else their length. */
  #beginningAt(bytes: Buffer): number {
    const at = bytes.lastIndexOf(this.#start[0] ?? 0);
    const isBeginning = at !== -1 && this.#start.subarray(0, bytes.length - at).equals(bytes.subarray(at));
    return isBeginning ? at : bytes.length;
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.#onOutput(bytes);
  }
}
