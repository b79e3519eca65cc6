import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';

const MAX_TAIL_BYTES = 2_048;
const STACK_FRAME = /^\s+at .+/;
const PACKAGE_ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Colours and other sequences that a terminal would act on. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const TERMINAL_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const CONTROL_CHARACTER = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** Makes a line of a process's output fit for logs and traces: without the secret, and nothing that moves a cursor. */
export function toPlainLine(line: string, secret: string | undefined): string {
  const withoutSecret = secret ? line.replaceAll(secret, '[harness key]') : line;
  return withoutSecret.replace(TERMINAL_SEQUENCE, '').replace(CONTROL_CHARACTER, '').trimEnd();
}

/**
 * The last lines that a process wrote, at most 2 KiB of UTF-8, for the message that says how it ended. Stack frames are
 * left out, and the folders of this machine before a path: `counter/environment.ts:3:7` is what remains.
 */
export class OutputTail {
  readonly #folders: readonly string[];
  readonly #lines: string[] = [];
  #bytes = 0;

  /** @param folders absolute folders that paths are shown relative to, beside the working directory and the home. */
  constructor(folders: readonly string[] = []) {
    const all = [...folders, process.cwd(), PACKAGE_ROOT, homedir()].map((folder) => folder.replace(/\/*$/, '/'));
    this.#folders = all.filter((folder) => folder !== '/').sort((a, b) => b.length - a.length);
  }

  add(line: string): void {
    if (line === '' || STACK_FRAME.test(line)) return;
    const shown = clip(this.#withoutFolders(line));
    this.#lines.push(shown);
    this.#bytes += sizeOf(shown);
    while (this.#bytes > MAX_TAIL_BYTES) this.#bytes -= sizeOf(this.#lines.shift() ?? '');
  }

  /** The lines, joined by line ends; empty where there were none. */
  text(): string {
    return this.#lines.join('\n');
  }

  #withoutFolders(line: string): string {
    let shown = line;
    for (const folder of this.#folders) shown = shown.replaceAll(`file://${folder}`, '').replaceAll(folder, '');
    return shown;
  }
}

/** With the line end that joins it to the next. */
function sizeOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** A single line that would not fit keeps its beginning, where an error names itself. */
function clip(line: string): string {
  if (sizeOf(line) <= MAX_TAIL_BYTES) return line;
  return `${new TextDecoder().decode(Buffer.from(line).subarray(0, MAX_TAIL_BYTES - 8)).replace(/\uFFFD$/, '')}...`;
}
