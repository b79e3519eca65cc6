import { StringDecoder } from 'node:string_decoder';
import type { LogRecord } from '../contract/trace.ts';
import { toPlainLine } from '../process/output-tail.ts';

/** Bytes at the beginning of an output, and at its end, that are kept (contract section 8, "Commands"). */
export const KEPT_BYTES = 1_024 * 1_024;
/** Bytes of one record: many short lines are one. */
const RECORD_BYTES = 32 * 1_024;
/** Milliseconds that lines wait for others. */
const RECORD_EVERY_MS = 500;

export interface OutputLogOptions {
  /** `stdout`: information; `stderr`: a warning. */
  readonly source: 'stdout' | 'stderr';
  readonly onLog: (record: Omit<LogRecord, 'at'>) => void;
  readonly keptBytes?: number | undefined;
}

/**
 * One output of an agent as records of a log: its first and its last bytes, and how much was left out between. The first
 * are told as they come. Memory stays within the two sizes, however much is written.
 */
export class OutputLog {
  readonly #options: OutputLogOptions;
  readonly #keptBytes: number;
  readonly #decoder = new StringDecoder('utf8');
  #headBytes = 0;
  #waiting = '';
  #timer: NodeJS.Timeout | undefined;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #leftOutBytes = 0;

  constructor(options: OutputLogOptions) {
    this.#options = options;
    this.#keptBytes = options.keptBytes ?? KEPT_BYTES;
  }

  write(chunk: Buffer): void {
    const room = Math.max(0, this.#keptBytes - this.#headBytes);
    if (room > 0) this.#addToHead(chunk.subarray(0, room));
    if (chunk.length > room) this.#addToTail(chunk.subarray(room));
  }

  /** Tells what it has kept. Nothing may be written after it. */
  end(): void {
    this.#waiting += this.#decoder.end();
    this.#flush();
    if (this.#tailBytes === 0) return;
    if (this.#leftOutBytes > 0) this.#tell(`… ${this.#leftOutBytes} bytes were left out here …`);
    // A character that was cut at either edge is shown as one that cannot be read.
    this.#waiting = Buffer.concat(this.#tail).toString('utf8');
    this.#tail = [];
    this.#flush();
  }

  #addToHead(chunk: Buffer): void {
    this.#headBytes += chunk.length;
    this.#waiting += this.#decoder.write(chunk);
    if (this.#waiting.length >= RECORD_BYTES) this.#flush(true);
    if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.#flush(true), RECORD_EVERY_MS).unref();
  }

  #addToTail(chunk: Buffer): void {
    this.#tail.push(Buffer.from(chunk));
    this.#tailBytes += chunk.length;
    while (this.#tailBytes > this.#keptBytes) {
      const [first] = this.#tail;
      if (first === undefined) return;
      const over = Math.min(first.length, this.#tailBytes - this.#keptBytes);
      if (over === first.length) this.#tail.shift();
      else this.#tail[0] = first.subarray(over);
      this.#tailBytes -= over;
      this.#leftOutBytes += over;
    }
  }

  /** @param isOpen more comes: a line that has no end yet waits for it, unless it is a record by itself. */
  #flush(isOpen = false): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#waiting;
    const lineEnd = text.lastIndexOf('\n') + 1;
    const end = isOpen && (lineEnd > 0 || text.length < RECORD_BYTES) ? lineEnd : text.length;
    this.#waiting = text.slice(end);
    for (let at = 0; at < end; ) {
      const wholeLines = text.lastIndexOf('\n', at + RECORD_BYTES) + 1;
      const next = at + RECORD_BYTES >= end ? end : wholeLines > at ? wholeLines : at + RECORD_BYTES;
      this.#tell(text.slice(at, next));
      at = next;
    }
  }

  #tell(text: string): void {
    const lines = text.split('\n').map((line) => toPlainLine(line, undefined));
    const message = lines.join('\n').trim();
    if (message === '') return;
    const level = this.#options.source === 'stderr' ? 'warning' : 'info';
    this.#options.onLog({ level, logger: `agent.${this.#options.source}`, message });
  }
}
