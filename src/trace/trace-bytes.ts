import type { Trace } from '../contract/trace.ts';
import type { TraceBytes } from '../formats/format.ts';
import { BLOB_PREFIX } from './blob-references.ts';
import type { TraceStore } from './trace-store.ts';

/** Bytes of one trace that are put into one file. */
const MAX_INLINE_BYTES = 256 * 1024 * 1024;

/**
 * Bytes that a trace refers to, by their reference, as far as its own account has them: what an environment wrote may name
 * anybody's.
 *
 * @param keep is asked with each blob before it is kept; false where its bytes are put elsewhere.
 */
export async function loadBytes(
  store: TraceStore,
  trace: Trace,
  account: string,
  keep: (reference: string, blob: { readonly bytes: Uint8Array; readonly mimeType: string }) => boolean = () => true,
): Promise<ReadonlyMap<string, TraceBytes>> {
  const found = new Map<string, TraceBytes>();
  let left = MAX_INLINE_BYTES;
  for (const reference of blobReferences(trace)) {
    const blob = await store.blob(reference.slice(BLOB_PREFIX.length), account);
    if (blob === undefined || !keep(reference, blob) || blob.bytes.length > left) continue;
    left -= blob.bytes.length;
    found.set(reference, { mimeType: blob.mimeType, data: Buffer.from(blob.bytes).toString('base64') });
  }
  return found;
}

/** Where something in the trace may refer to bytes of the store. */
function blobReferences(trace: Trace): ReadonlySet<string> {
  return new Set(JSON.stringify(trace).match(REFERENCE) ?? []);
}

const REFERENCE = new RegExp(`${BLOB_PREFIX}[0-9a-f]{64}`, 'g');
