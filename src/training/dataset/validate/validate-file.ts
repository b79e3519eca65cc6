import { createReadStream } from 'node:fs';
import { messageOf } from '../../../contract/errors.ts';
import { isJsonObject } from '../../../contract/json.ts';
import type { DatasetFormat } from '../../../contract/service/dataset.ts';
import { withoutExcerpt } from '../../../evaluation/tasks/read-jsonl.ts';
import type { Redactor } from '../../../support/redaction/redactor.ts';
import { ByteLines } from '../../../support/runtime/byte-lines.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { checkLine } from './check-line.ts';
import type { LineProblem } from './line-problem.ts';

/** Largest line in bytes. Our choice: eight times the size of the largest contexts. */
const MAX_LINE_BYTES = 32 * 1_024 * 1_024;
const CHUNK_BYTES = 1_024 * 1_024;
/** Largest file in bytes that OpenAI accepts. */
const MAX_FILE_BYTES = 512 * 1_024 * 1_024;
/** Smallest number of lines for OpenAI. Others accept fewer. */
const MIN_LINES = 10;
const MARK = [0xef, 0xbb, 0xbf] as const;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A problem with its position. `line` counts from 1; 0 means the whole file. */
export interface FileProblem extends LineProblem {
  readonly line: number;
}

export interface ValidateOptions {
  readonly format: DatasetFormat;
  readonly signal: AbortSignal;
  /** Called for each problem as it is found, up to `maxProblems`. */
  readonly onProblem: (problem: FileProblem) => void;
  /** Limit of reported problems; all are counted. Default 100. */
  readonly maxProblems?: number;
  /** Detects secrets, which no line may contain. */
  readonly redactor?: Redactor | undefined;
  /** True for a training file, which needs a minimum number of lines. Default true. */
  readonly isTraining?: boolean;
}

export interface ValidatedFile {
  readonly lines: number;
  readonly bytes: number;
  readonly errors: number;
  readonly warnings: number;
}

/**
 * Reads a file as the trainer of its format would. Only one line of at most 32 MiB is in memory at a time.
 *
 * @throws Error of the file system for an unreadable file; the reason of the signal.
 */
export async function validateFile(path: string, options: ValidateOptions): Promise<ValidatedFile> {
  const checking = new FileCheck(options);
  const lines = new ByteLines(MAX_LINE_BYTES, (number, line) => checking.take(number, line));
  const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal: options.signal });
  let bytes = 0;
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length;
      lines.push(chunk as Buffer);
    }
  } catch (error) {
    options.signal.throwIfAborted();
    throw error;
  }
  lines.end();
  return checking.end(bytes);
}

class FileCheck {
  readonly #options: ValidateOptions;
  #lines = 0;
  #errors = 0;
  #warnings = 0;
  /** Number of the last empty line. An empty line at the end of the file is allowed. */
  #empty = 0;
  /** Field names of the first line. */
  #fields: string | undefined;

  constructor(options: ValidateOptions) {
    this.#options = options;
  }

  take(number: number, line: Uint8Array | undefined): void {
    if (this.#empty > 0) this.#error(this.#empty, 'empty_line', '', 'is empty');
    this.#empty = 0;
    if (line?.length === 0) {
      this.#empty = number;
      return;
    }
    this.#lines += 1;
    const problem = line === undefined ? 'is longer than 32 MiB' : this.#read(number, line);
    if (problem !== undefined) this.#error(number, 'not_json', '', problem);
  }

  end(bytes: number): ValidatedFile {
    const { isTraining = true } = this.#options;
    if (this.#lines === 0 && isTraining) this.#error(0, 'no_lines', '', 'has no lines: there is nothing to train on');
    else if (this.#lines < MIN_LINES && isTraining) {
      this.#warning(0, 'few_lines', '', `has ${this.#lines} lines: OpenAI takes no fewer than ${MIN_LINES}`);
    }
    if (bytes > MAX_FILE_BYTES) this.#warning(0, 'large_file', '', `has ${bytes} bytes: OpenAI takes at most 512 MiB`);
    return { lines: this.#lines, bytes, errors: this.#errors, warnings: this.#warnings };
  }

  /** @returns the reason why the line is not a JSON object. */
  #read(number: number, line: Uint8Array): string | undefined {
    if (number === 1 && MARK.every((byte, index) => line[index] === byte))
      return 'begins with a byte order mark: write the file without one';
    if (line.at(-1) === 0x0d) return 'ends with a carriage return: write lines that end with a line feed alone';
    let value: unknown;
    try {
      value = JSON.parse(UTF8.decode(line));
    } catch (error) {
      return error instanceof SyntaxError ? `is not JSON: ${withoutExcerpt(messageOf(error))}` : 'is not UTF-8';
    }
    if (!isJsonObject(value)) return `has to be a JSON object, got ${preview(value)}`;
    const { format, redactor } = this.#options;
    for (const problem of checkLine(format, value)) this.#tell(number, problem);
    const fields = Object.keys(value).sort().join(', ');
    this.#fields ??= fields;
    if (fields !== this.#fields) {
      this.#error(
        number,
        'fields',
        '',
        `has the fields ${fields}, and the first line has ${this.#fields}: trainers refuse files that mix them`,
      );
    }
    const text = redactor === undefined ? '' : JSON.stringify(value);
    if (redactor !== undefined && redactor.text(text) !== text)
      this.#error(number, 'secret', '', 'holds a secret of this installation');
    return undefined;
  }

  #error(line: number, code: string, path: string, message: string): void {
    this.#tell(line, { level: 'error', code, path, message });
  }

  #warning(line: number, code: string, path: string, message: string): void {
    this.#tell(line, { level: 'warning', code, path, message });
  }

  #tell(line: number, problem: LineProblem): void {
    if (problem.level === 'error') this.#errors += 1;
    else this.#warnings += 1;
    const { onProblem, maxProblems = 100 } = this.#options;
    if (this.#errors + this.#warnings <= maxProblems) onProblem({ line, ...problem });
  }
}

/** A problem in one line, in the style of compiler messages. */
export function describeProblem(file: string, { line, path, message }: FileProblem): string {
  const place = line === 0 ? file : `${file}:${line}`;
  return path === '' ? `${place}: ${line === 0 ? 'the file' : 'the line'} ${message}` : `${place}: ${path} ${message}`;
}
