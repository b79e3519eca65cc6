import pc from 'picocolors';

/** Colours for people; plain text as soon as one of the two outputs is no terminal, and for `NO_COLOR`. */
export const colors: ReturnType<typeof pc.createColors> = pc.createColors(
  pc.isColorSupported && process.stdout.isTTY === true && process.stderr.isTTY === true,
);

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** One line of JSON. What a terminal might obey is escaped, which JSON itself asks of some control characters alone. */
export function printJson(value: unknown): void {
  print(
    JSON.stringify(value).replace(
      HIDDEN_CHARACTERS,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  );
}

/** Rows as columns of equal width, two blanks apart. */
export function printTable(rows: readonly (readonly string[])[]): void {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)),
    [],
  );
  for (const row of rows) {
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** For the person at the terminal, beside the result: progress, warnings, what to do next. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Lines that end early (`| head`) and terminals that were closed do not change what a command does, or its exit code. */
export function ignoreClosedOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}

/**
 * Text that a model, a tool or an environment wrote, safe to print: control characters (terminal escapes among them)
 * become visible, white space one blank, and what is longer than `length` is cut.
 */
export function printable(text: string, length = 160): string {
  const visible = withoutControls(text.replace(/\s+/g, ' ').trim());
  return visible.length > length ? `${visible.slice(0, length - 1)}…` : visible;
}

/** As `printable`, for text of several lines, whole. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(withoutControls).join('\n');
}

/** Control characters, and format characters that hide or turn text; emoji are made with the joiners. */
const HIDDEN_CHARACTERS = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function withoutControls(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, '\ufffd');
}
