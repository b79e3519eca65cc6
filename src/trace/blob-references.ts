import type { Json, JsonObject } from '../contract/json.ts';

export const BLOB_PREFIX = 'svc-blob://sha256/';

/** Bytes up to this length stay where they are. */
const MAX_INLINE_BYTES = 16 * 1024;

/** Content is not looked for below this depth: arguments and results may be nested without end. */
const MAX_DEPTH = 32;

/**
 * Replaces the bytes of content by references: `data` of images and audio, `blob` of resources, where they are more
 * than 16 KiB. What holds none is given back as it is; nothing is changed in place.
 *
 * @param put stores bytes and gives their reference.
 */
export async function replaceBytes<T extends Json>(
  value: T,
  put: (bytes: Uint8Array, mimeType: string) => Promise<string>,
): Promise<T> {
  // A replaced value has the shape of the one before: only strings inside of it differ.
  return (await replace(value, put, 0)) as T;
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
  const field =
    value.type === 'image' || value.type === 'audio' ? 'data' : typeof value.uri === 'string' ? 'blob' : undefined;
  if (field === undefined) return undefined;
  const bytes = decodeLarge(value[field]);
  if (bytes === undefined) return undefined;
  return { field, bytes, mimeType: typeof value.mimeType === 'string' ? value.mimeType : 'application/octet-stream' };
}

/** The bytes of base64 that is more than 16 KiB of them; undefined for anything else. */
function decodeLarge(text: Json | undefined): Uint8Array | undefined {
  if (typeof text !== 'string' || (text.length / 4) * 3 <= MAX_INLINE_BYTES) return undefined;
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > MAX_INLINE_BYTES ? bytes : undefined;
}
