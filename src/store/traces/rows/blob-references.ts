import type { Json, JsonObject } from '../../../contract/json.ts';

export const BLOB_PREFIX = 'svc-blob://sha256/';

/** Content up to this size stays inline. */
const MAX_INLINE_BYTES = 16 * 1024;

/** Content below this depth is not searched, because arguments and results may be nested without limit. */
const MAX_DEPTH = 32;

/**
 * Replaces bytes over 16 KiB by references: `data` of images and audio, and `blob` of resources. A value without such
 * bytes is returned unchanged; nothing is modified in place.
 *
 * @param put stores bytes and returns their reference.
 */
export async function replaceBytes<T extends Json>(
  value: T,
  put: (bytes: Uint8Array, mimeType: string) => Promise<string>,
): Promise<T> {
  // Only strings inside of the value change, so its type stays.
  return (await replace(value, put, 0)) as T;
}

/**
 * Replaces references by their bytes; the reverse of `replaceBytes`.
 *
 * @param get returns base64, or undefined for missing bytes, whose reference then stays.
 */
export async function restoreBytes<T extends Json>(value: T, get: GetBytes): Promise<T> {
  // Only strings inside of the value change, so its type stays.
  return (await restore(value, get, 0)) as T;
}

type GetBytes = (sha256: string) => Promise<string | undefined>;

async function restore(value: Json, get: GetBytes, depth: number): Promise<Json> {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const restored: Json[] = [];
    for (const each of value) restored.push(await restore(each, get, depth + 1));
    return restored;
  }
  const field = fieldOfBytes(value);
  const restored: JsonObject = {};
  for (const [key, each] of Object.entries(value)) {
    const isReference = key === field && typeof each === 'string' && each.startsWith(BLOB_PREFIX);
    const found = isReference ? await get(each.slice(BLOB_PREFIX.length)) : undefined;
    const whole = isReference ? (found ?? each) : await restore(each, get, depth + 1);
    Object.defineProperty(restored, key, { value: whole, enumerable: true, writable: true, configurable: true });
  }
  return restored;
}

async function replace(
  value: Json,
  put: (bytes: Uint8Array, mimeType: string) => Promise<string>,
  depth: number,
): Promise<Json> {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const replaced: Json[] = [];
    for (const each of value) replaced.push(await replace(each, put, depth + 1));
    return replaced.some((each, index) => each !== value[index]) ? replaced : value;
  }
  const found = findBytes(value);
  if (found !== undefined) return { ...value, [found.field]: await put(found.bytes, found.mimeType) };
  let changed: JsonObject | undefined;
  for (const [key, each] of Object.entries(value)) {
    const replaced = await replace(each, put, depth + 1);
    if (replaced !== each) changed = { ...(changed ?? value), [key]: replaced };
  }
  return changed ?? value;
}

function findBytes(value: JsonObject): { field: string; bytes: Uint8Array; mimeType: string } | undefined {
  const field = fieldOfBytes(value);
  if (field === undefined) return undefined;
  const bytes = decodeLarge(value[field]);
  if (bytes === undefined) return undefined;
  return { field, bytes, mimeType: typeof value.mimeType === 'string' ? value.mimeType : 'application/octet-stream' };
}

/** The field of a content block that holds its bytes. */
function fieldOfBytes({ type, uri }: JsonObject): 'data' | 'blob' | undefined {
  if (type === 'image' || type === 'audio') return 'data';
  return typeof uri === 'string' ? 'blob' : undefined;
}

/** Decodes base64 of more than 16 KiB; undefined for any other text. */
function decodeLarge(text: Json | undefined): Uint8Array | undefined {
  if (typeof text !== 'string' || (text.length / 4) * 3 <= MAX_INLINE_BYTES) return undefined;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > MAX_INLINE_BYTES ? bytes : undefined;
}
