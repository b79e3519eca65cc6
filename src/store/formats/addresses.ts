import type { TraceBytes, WriteContext } from './format.ts';

/** Content below this depth is not searched. The store uses the same limit when it moves bytes into blobs. */
const MAX_DEPTH = 32;

const GONE = 'the bytes are not in the store any more, or more than one file may hold';

/** Replaces each `data` and `blob` by the address of its bytes, so that nothing refers to the store of this machine. */
export function withAddresses<T>(value: T, field: string, context: WriteContext): T {
  const addressOf = (bytes: TraceBytes) => addressOrLoss(bytes, field, context) ?? '';
  return mapBytes(value, addressOf, 0) as T; // Only strings inside of the value change.
}

/**
 * The reverse of `withAddresses`. @param bytesAt returns the base64 at an address; undefined for an address that must
 * not be read.
 */
export function withBytes<T>(value: T, bytesAt: (address: string) => TraceBytes | undefined): T {
  return mapBytes(value, ({ data }) => bytesAt(data)?.data ?? '', 0) as T; // As above.
}

/** The address of bytes; without one it notes a loss. */
export function addressOrLoss(
  bytes: TraceBytes,
  field: string,
  { addressOf, losses }: WriteContext,
): string | undefined {
  const address = addressOf(bytes);
  if (address === undefined) losses.add(field, GONE);
  return address;
}

/** The bytes in a `data:` URL of base64; undefined for any other address. */
export function parseDataUrl(address: string): TraceBytes | undefined {
  const [, mimeType, data] = DATA_URL.exec(address) ?? [];
  return data === undefined ? undefined : { mimeType: mimeType || 'application/octet-stream', data };
}

export function toDataUrl({ mimeType, data }: TraceBytes): string {
  return `data:${mimeType};base64,${data}`;
}

const DATA_URL = /^data:([\w.+/-]*)(?:;[\w=.+-]+)*;base64,([A-Za-z0-9+/]*={0,2})$/;

function mapBytes(value: unknown, map: (bytes: TraceBytes) => string, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((each) => mapBytes(each, map, depth + 1));
  const object = value as Readonly<Record<string, unknown>>; // The value is neither null nor a list here.
  const field = bytesField(object);
  const entries = Object.entries(object).map(([key, each]) => {
    const isBytes = key === field && typeof each === 'string';
    return [key, isBytes ? map({ mimeType: mimeTypeOf(object), data: each }) : mapBytes(each, map, depth + 1)];
  });
  return Object.fromEntries(entries);
}

/** The field of a content block that holds its bytes, as MCP and the store define it. */
function bytesField(value: Readonly<Record<string, unknown>>): 'data' | 'blob' | undefined {
  if (value.type === 'image' || value.type === 'audio') return typeof value.data === 'string' ? 'data' : undefined;
  return typeof value.uri === 'string' && typeof value.blob === 'string' ? 'blob' : undefined;
}

function mimeTypeOf({ mimeType }: Readonly<Record<string, unknown>>): string {
  return typeof mimeType === 'string' ? mimeType : 'application/octet-stream';
}

/** True when a value contains a reference to bytes of a store. */
export function refersToBytes(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.some((each) => refersToBytes(each, depth + 1));
  const object = value as Readonly<Record<string, unknown>>; // The value is neither null nor a list here.
  for (const key in object) {
    const each = object[key];
    if (typeof each === 'string') {
      if ((key === 'data' || key === 'blob') && each.startsWith('svc-blob:')) return true;
    } else if (refersToBytes(each, depth + 1)) return true;
  }
  return false;
}
