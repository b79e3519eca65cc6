import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';

const MAX_TAIL_BYTES = 2_048;
const STACK_FRAME = /^\s+at .+/;
const PACKAGE_ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Colours and other control sequences of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const TERMINAL_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const CONTROL_CHARACTER = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** Removes colours and other control sequences of terminals from a text of several lines. */
export function withoutTerminalSequences(text: string): string {
  return text.replace(TERMINAL_SEQUENCE, '');
}

/** Cleans a line of output for logs and traces: removes the secret and everything that a terminal would act on. */
export function toPlainLine(line: string, secret: string | undefined): string {
  const withoutSecret = secret ? line.replaceAll(secret, '[harness key]') : line;
  return withoutTerminalSequences(withoutSecret).replace(CONTROL_CHARACTER, '').trimEnd();
}

/**
 * The last lines that a process wrote, at most 2 KiB of UTF-8, for the message about its end. Stack frames are removed,
 * and so are the machine's folders in paths: `counter/environment.ts:3:7` remains.
 */
export class OutputTail {
  readonly #folders: readonly string[];
  readonly #lines: string[] = [];
  #bytes = 0;

  /** @param folders are removed from paths, besides the working directory and the home folder. */
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

  /** The lines, joined by line breaks. Empty if there are none. */
  text(): string {
    return this.#lines.join('\n');
  }

  #withoutFolders(line: string): string {
    let shown = line;
    for (const folder of this.#folders) shown = shown.replaceAll(`file://${folder}`, '').replaceAll(folder, '');
    return shown;
  }
}

/** Bytes of the line with its line break. */
function sizeOf(line: string): number {
  return Buffer.byteLength(line) + 1;
}

/** If a single line is too long, its beginning is kept, because errors name themselves there. */
function clip(line: string): string {
  if (sizeOf(line) <= MAX_TAIL_BYTES) return line;
  return `${new TextDecoder().decode(Buffer.from(line).subarray(0, MAX_TAIL_BYTES - 8)).replace(/\uFFFD$/, '')}...`;
}
