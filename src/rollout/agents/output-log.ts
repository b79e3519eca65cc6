import { StringDecoder } from 'node:string_decoder';
import type { LogRecord } from '../../contract/service/trace.ts';
import { toPlainLine } from '../../environment/process/output-tail.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';

/** Bytes that are kept at the start of an output, and again at its end (contract section 8, "Commands"). */
const KEPT_BYTES = 1_024 * 1_024;
/** Largest record in bytes. Short lines are joined into one record. */
const RECORD_BYTES = 32 * 1_024;
export interface OutputLogOptions {
  /** Stream of the output. Lines of `stdout` get the level information, those of `stderr` the level warning. */
  readonly source: 'stdout' | 'stderr';
  readonly onLog: (record: Omit<LogRecord, 'at'>) => void;
  readonly keptBytes?: number | undefined;
}

/**
 * Turns one output of an agent into log records: its first bytes, the number of omitted bytes, and its last bytes. The
 * first bytes are logged at once. Memory is bounded by the two sizes, for any amount of output.
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

  /** Logs the kept end of the output. Nothing may be written afterwards. */
  end(): void {
    this.#waiting += this.#decoder.end();
    this.#flush();
    if (this.#tailBytes === 0) return;
    if (this.#leftOutBytes > 0) this.#tell(`… ${this.#leftOutBytes} bytes were left out here …`);
    // The cut may split a character, which then appears as a replacement character.
    this.#waiting = Buffer.concat(this.#tail).toString('utf8');
    this.#tail = [];
    this.#flush();
  }

  #addToHead(chunk: Buffer): void {
    this.#headBytes += chunk.length;
    this.#waiting += this.#decoder.write(chunk);
    if (this.#waiting.length >= RECORD_BYTES) this.#flush(true);
    if (this.#waiting !== '') this.#timer ??= setTimeout(() => this.#flush(true), PERIODS_MS.agentOutput).unref();
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

  /** @param isOpen true if more output may come: an incomplete line waits for its end, unless it fills a record. */
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
