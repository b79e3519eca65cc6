import { messageOf } from '../../contract/errors.ts';
import { ByteLines } from '../../support/runtime/byte-lines.ts';
import { NO_UTF8, openTasksFile } from './open-file.ts';
import type { TasksReader } from './tasks-reader.ts';

const MAX_LINE_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a task of each line; empty lines are skipped. Of the file, a chunk and a line are in memory at a time.
 *
 * @throws ApiError for a file that cannot be read. What is wrong with a line is the reader's.
 */
export async function readJsonLines(
  path: string,
  label: string,
  reader: TasksReader,
  signal?: AbortSignal,
): Promise<void> {
  const file = await openTasksFile(path, label);
  try {
    const lines = new ByteLines(MAX_LINE_BYTES, (number, line) => takeLine(reader, number, line));
    const stream = file.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES, ...(signal && { signal }) });
    for await (const chunk of stream) lines.push(chunk);
    lines.end();
  } finally {
    await file.close();
  }
}

function takeLine(reader: TasksReader, number: number, line: Uint8Array | undefined): void {
  if (line === undefined) {
    const sentence = `The line is longer than ${MAX_LINE_BYTES / 1024 / 1024} MiB, the most that a task may have.`;
    reader.refuse(number, { field: '', sentence });
    return;
  }
  let text: string;
  try {
    // A mark of byte order is dropped with the decoding.
    text = UTF8.decode(line);
  } catch {
    reader.refuse(number, { field: '', sentence: NO_UTF8 });
    return;
  }
  if (text.trim() === '') return;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    reader.refuse(number, { field: '', sentence: `The line is not JSON: ${withoutExcerpt(messageOf(error))}.` });
    return;
  }
  reader.take(number, value);
}

/** The words of V8 may hold a piece of the line, with its control characters. */
export function withoutExcerpt(message: string): string {
  return message
    .replace(/, (?:\.\.\.)?".*$/su, '')
    .replace(/ in JSON(?= at position)/, '')
    .replaceAll(/\p{Cc}+/gu, ' ');
}
