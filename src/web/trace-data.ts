import type { TraceEvent } from '../contract/service/event.ts';
import type { TraceSummary } from '../contract/service/trace.ts';

/** Some of a trace, as its page reads it (`GET /data/traces/{trace_id}`). */
export interface TraceData {
  /** With the first reply alone. */
  readonly trace?: TraceSummary;
  readonly events: readonly TraceEvent[];
  /** The next request; null at the end of the stored events. */
  readonly next: number | null;
}

/** The contents of a kept trace's file. */
export interface KeptTrace {
  readonly trace: TraceSummary;
  readonly events: readonly TraceEvent[];
  /** Images by their hash; `data` is base64. */
  readonly blobs: Readonly<Record<string, { readonly mimeType: string; readonly data: string }>>;
}
