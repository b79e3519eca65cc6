import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve } from 'node:path';
import { filesOpenHere } from '../../support/runtime/open-files.ts';
import { parseDataUrl } from './addresses.ts';
import type { TraceBytes } from './format.ts';
import type { ImportLimits } from './import-limits.ts';
import { mediaTypeOf } from './media-types.ts';

/** Largest image in bytes. A file may refer to many images. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;

/**
 * Reads the bytes that a file refers to: `data:` URLs, and images and audio in the folder of the file, also through
 * links. It never fetches a URL, no path leads out of the folder, and other files in the folder, such as a key, stay
 * out of traces.
 *
 * @param path of the file, or of its folder.
 */
export function createFileBytes(path: string, limits: ImportLimits): (address: string) => TraceBytes | undefined {
  let left: number = limits.unpackedBytes;
  return (address) => {
    const inline = address.startsWith('data:') ? parseDataUrl(address) : undefined;
    if (inline !== undefined || /^[a-z][a-z0-9+.-]+:/i.test(address) || address.includes('\0')) return inline;
    const file = findBeneath(path, address);
    if (file === undefined || file.size > Math.min(MAX_IMAGE_BYTES, left)) return undefined;
    const mimeType = mediaTypeOf(file.path);
    if (mimeType === undefined) return undefined;
    left -= file.size;
    const data = readBase64(file.path);
    return data === undefined ? undefined : { mimeType, data };
  };
}

function findBeneath(path: string, address: string): { readonly path: string; readonly size: number } | undefined {
  try {
    const folder = realpathSync(statSync(path).isDirectory() ? path : dirname(path));
    const found = realpathSync(resolve(folder, address));
    const way = relative(folder, found);
    if (way === '' || way.startsWith('..') || isAbsolute(way)) return undefined;
    const stats = statSync(found);
    return stats.isFile() && !filesOpenHere()(stats) ? { path: found, size: stats.size } : undefined;
  } catch {
    return undefined; // The file does not exist, or this user may not read it.
  }
}

function readBase64(path: string): string | undefined {
  try {
    return readFileSync(path).toString('base64');
  } catch {
    return undefined; // This user may not read it.
  }
}
