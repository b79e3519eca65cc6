import type { FileHandle } from 'node:fs/promises';
import { ToolError } from 'proctor';

/** Of a file that is read or written as a whole. */
export const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Reads the whole of an open file as text.
 *
 * @throws ToolError for what is not a regular file of its own, too large, or not text.
 */
export async function readText(file: FileHandle, path: string): Promise<string> {
  const size = await checkRegular(file, path);
  if (size > MAX_FILE_BYTES) {
    throw new ToolError(`${JSON.stringify(path)} has ${size} bytes; this tool takes files up to ${MAX_FILE_BYTES}.`);
  }
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  const text = toText(bytes.subarray(0, bytesRead));
  if (text === undefined) throw new ToolError(`${JSON.stringify(path)} is a binary file of ${size} bytes, not text.`);
  return text;
}

/** Undefined for what is not text in UTF-8. */
function toText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * The size of an open file, in bytes.
 *
 * @throws ToolError for a folder, pipe or device, and for a file with a second name, which may lie outside.
 */
export async function checkRegular(file: FileHandle, path: string): Promise<number> {
  const stats = await file.stat();
  const shown = JSON.stringify(path);
  if (stats.isDirectory()) throw new ToolError(`${shown} is a folder.`);
  if (!stats.isFile()) throw new ToolError(`${shown} is not a regular file.`);
  if (stats.nlink > 1) throw new ToolError(`${shown} is a hard link: file tools take files with one name only.`);
  return stats.size;
}

/** @throws ToolError for text that is larger than a file may be. */
export function checkTextSize(text: string): void {
  const size = Buffer.byteLength(text);
  if (size > MAX_FILE_BYTES) {
    throw new ToolError(`The text has ${size} bytes; this tool writes files up to ${MAX_FILE_BYTES}.`);
  }
}
