import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ApiError } from '../../contract/errors.ts';
import { isOpenHere } from '../../support/runtime/open-files.ts';
import { tasksRefused } from './tasks-refused.ts';

/** Bytes. A file of 100,000 tasks has a tenth of it. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/**
 * Opens a file of tasks for reading. Whoever opens it closes it.
 *
 * @param label how messages name it.
 * @throws ApiError where it is no file, cannot be read, or is larger than its kind may be.
 */
export async function openTasksFile(path: string, label: string, maxBytes = MAX_FILE_BYTES): Promise<FileHandle> {
  if (isOpenHere(path)) throw refuseFile(label, 'It is open in this process, as its database is: no tasks are in it.');
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw refuseFile(label, reasonOf(error), error);
  });
  try {
    const stats = await file.stat();
    if (stats.isDirectory()) throw refuseFile(label, 'It is a directory; name a file of tasks.');
    // A pipe or a device may never end.
    if (!stats.isFile()) throw refuseFile(label, 'It is no ordinary file.');
    if (stats.size <= maxBytes) return file;
    const limit = `at most ${maxBytes / 1024 / 1024} MiB are read`;
    throw refuseFile(
      label,
      `It has ${stats.size} bytes; ${limit} of a file of this kind. Lines of JSON (.jsonl) may be more.`,
    );
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The whole text of a file. @throws ApiError as `openTasksFile`, and for bytes that are no UTF-8. */
export async function readTasksText(path: string, label: string, maxBytes: number): Promise<string> {
  const file = await openTasksFile(path, label, maxBytes);
  try {
    const bytes = await file.readFile();
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuseFile(label, error instanceof TypeError ? NO_UTF8 : reasonOf(error), error);
  } finally {
    await file.close();
  }
}

export const NO_UTF8 = 'It has bytes that are not UTF-8; save it as UTF-8.';

export function refuseFile(label: string, sentence: string, cause?: unknown): ApiError {
  return tasksRefused({ file: label, by: 'line' }, [{ position: null, field: '', sentence }], 1, cause);
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? `It cannot be read (${code || String(error)}).`;
}

/** By code of the system. Its own words name the path of the machine. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file.',
  ENOTDIR: 'There is no such file.',
  EACCES: 'This user may not read it.',
  EPERM: 'This user may not read it.',
  EISDIR: 'It is a directory; name a file of tasks.',
  ELOOP: 'It is a link that leads in a circle.',
  ENXIO: 'It is no ordinary file.',
};
