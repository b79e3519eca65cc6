import { OutputWindow } from '../sandbox/output-window.ts';

/** Bytes of the shell's report on a command: its exit code, and the ids of background processes. */
const MAX_REPORT_BYTES = 16 * 1024;

/**
 * Reads the output of a shell until a report that only the shell writes: a line with the sentinel, the exit code, ids of
 * background processes, and the sentinel again. Memory is bounded however much comes, and chunks may cut the sentinel.
 */
export class SentinelReader {
  readonly #begin: Buffer;
  readonly #end: Buffer;
  readonly #window: OutputWindow;
  #rest: Buffer = Buffer.alloc(0);
  #isReport = false;
  #report: readonly number[] | undefined;

  constructor(sentinel: string, shownBytes: number) {
    this.#begin = Buffer.from(`\n${sentinel}\n`);
    this.#end = Buffer.from(`${sentinel}.\n`);
    this.#window = new OutputWindow(Math.ceil(shownBytes / 2), Math.floor(shownBytes / 2));
  }

  /** Set once the report has come. */
  get exitCode(): number | undefined {
    return this.#report?.[0];
  }

  /** Process ids of the shell's jobs that go on. */
  get background(): readonly number[] {
    return this.#report?.slice(1) ?? [];
  }

  get omittedBytes(): number {
    return this.#window.omitted;
  }

  /** Takes a chunk. True once the report has come; chunks after it are not read. */
  write(chunk: Buffer): boolean {
    if (this.#report !== undefined) return true;
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    if (this.#isReport) return this.#readReport(bytes);
    const at = bytes.indexOf(this.#begin);
    if (at === -1) {
      const kept = Math.min(bytes.length, this.#begin.length - 1);
      this.#window.write(bytes.subarray(0, bytes.length - kept));
      this.#rest = Buffer.from(bytes.subarray(bytes.length - kept));
      return false;
    }
    this.#window.write(bytes.subarray(0, at));
    this.#isReport = true;
    return this.#readReport(bytes.subarray(at + this.#begin.length));
  }

  /** The output so far. */
  text(): string {
    if (this.#rest.length > 0 && !this.#isReport) this.#window.write(this.#rest);
    this.#rest = Buffer.alloc(0);
    return this.#window.text();
  }

  #readReport(bytes: Buffer): boolean {
    const at = bytes.indexOf(this.#end);
    // A report has its end nearly at once. All that comes without one is dropped but for what an end may begin with.
    const first = Math.max(0, bytes.length - MAX_REPORT_BYTES);
    this.#rest = Buffer.from(bytes.subarray(first));
    if (at === -1) return false;
    const numbers =
      bytes
        .subarray(Math.max(0, at - MAX_REPORT_BYTES), at)
        .toString('latin1')
        .match(/^\d+$/gm) ?? [];
    this.#report = numbers.map(Number);
    return true;
  }
}
