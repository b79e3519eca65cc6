import pc from 'picocolors';

/** Whether a person is likely to read standard output. */
const isTerminal: boolean = process.stdout.isTTY === true;

/** Colours for people; plain text for pipes, `NO_COLOR` and CI logs. */
export const colors: ReturnType<typeof pc.createColors> = pc.createColors(pc.isColorSupported && isTerminal);

export function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** For the person at the terminal, beside the result: progress, warnings, what to do next. */
export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/**
 * Text that a model, a tool or an environment wrote, safe to print: control characters (terminal escapes among them)
 * become visible, white space one blank, and what is longer than `length` is cut.
 */
export function printable(text: string, length = 160): string {
  const visible = text
    .replace(/\s+/g, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to go
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, '\ufffd')
    .trim();
  return visible.length > length ? `${visible.slice(0, length - 1)}…` : visible;
}
