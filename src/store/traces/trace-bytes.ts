import type { Trace } from '../../contract/service/trace.ts';
import type { TraceBytes } from '../formats/format.ts';
import { BLOB_PREFIX } from './rows/blob-references.ts';

export interface StoredBytes {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
}

/** Largest number of bytes of one trace that are put into one file. */
const MAX_INLINE_BYTES = 256 * 1024 * 1024;

/**
 * Loads the bytes that a trace refers to, by reference, where `read` finds them.
 *
 * @param read returns the bytes of a hash if the trace's account has them: an environment may name any hash.
 * @param keep called with each blob before it is kept; false when the caller stores the bytes elsewhere.
 */
export async function loadBytes(
  trace: Trace,
  read: (sha256: string) => Promise<StoredBytes | undefined>,
  keep: (reference: string, blob: StoredBytes) => boolean = () => true,
): Promise<ReadonlyMap<string, TraceBytes>> {
  const found = new Map<string, TraceBytes>();
  let left = MAX_INLINE_BYTES;
  for (const reference of blobReferences(trace)) {
    const blob = await read(reference.slice(BLOB_PREFIX.length));
    if (blob === undefined || !keep(reference, blob) || blob.bytes.length > left) continue;
    left -= blob.bytes.length;
    found.set(reference, { mimeType: blob.mimeType, data: Buffer.from(blob.bytes).toString('base64') });
  }
  return found;
}

/** All texts in a trace that look like references to bytes. */
function blobReferences(trace: Trace): ReadonlySet<string> {
  return new Set(JSON.stringify(trace).match(REFERENCE) ?? []);
}

const REFERENCE = new RegExp(`${BLOB_PREFIX}[0-9a-f]{64}`, 'g');
