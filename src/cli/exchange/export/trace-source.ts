import type { ServiceClient, TraceListQuery } from '../../../client/service-client.ts';
import { ApiError } from '../../../contract/errors.ts';
import type { Trace, TraceSummary } from '../../../contract/service/trace.ts';
import { toSummary } from '../../../store/traces/rows/projection.ts';
import { findTrace } from '../traces/find-trace.ts';

/** Number of traces that are requested ahead. */
const AHEAD = 4;

/** The traces of a service, as an export reads them. */
export interface TraceSource {
  /** Trace summaries, newest first. */
  list(filters: TraceListQuery): AsyncIterable<TraceSummary>;
  /** @throws ApiError trace_not_found. */
  summary(traceId: string): Promise<TraceSummary>;
  /** Undefined if the trace was deleted. */
  trace(traceId: string): Promise<Trace | undefined>;
  /** Traces in the order of the ids, without deleted ones. @throws the reason of the signal. */
  traces(traceIds: readonly string[], signal: AbortSignal): AsyncIterable<Trace>;
  /** Undefined for content that was deleted or is not part of a trace of this account. */
  blob(sha256: string): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string } | undefined>;
}

/** The traces of a service, here or elsewhere. */
export function createTraceSource(client: ServiceClient): TraceSource {
  const trace: TraceSource['trace'] = (id) => unlessGone('trace_not_found', () => client.traces.get(id));
  return {
    list: (filters) => client.traces.all({ ...filters, limit: 100 }),
    summary: async (id) => toSummary(await findTrace(client, id)),
    trace,
    async *traces(ids, signal) {
      const waiting: Promise<Trace | undefined>[] = [];
      for (const id of [...ids, ...Array<undefined>(AHEAD).fill(undefined)]) {
        signal.throwIfAborted();
        const asked = id === undefined ? Promise.resolve(undefined) : trace(id);
        asked.catch(() => {}); // A rejection is handled when it is awaited below.
        waiting.push(asked);
        const next = waiting.length > AHEAD ? await waiting.shift() : undefined;
        if (next !== undefined) yield next;
      }
    },
    blob: (sha256) => unlessGone('blob_not_found', () => client.blobs.get(sha256)),
  };
}

async function unlessGone<T>(code: 'trace_not_found' | 'blob_not_found', ask: () => Promise<T>) {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ApiError && error.code === code) return undefined;
    throw error;
  }
}
