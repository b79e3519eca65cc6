import type { TraceEvent } from '../contract/event.ts';
import type { TraceSummary } from '../contract/trace.ts';

/** Some of a trace, as its page reads it (`GET /data/traces/{trace_id}`). */
export interface TraceData {
  /** With the first reply alone. */
  readonly trace?: TraceSummary;
  readonly events: readonly TraceEvent[];
  /** What to ask for after it; null at the end of what is stored. */
  readonly next: number | null;
}

/** What the file of a kept trace holds. */
export interface KeptTrace {
  readonly trace: TraceSummary;
  readonly events: readonly TraceEvent[];
  /** Images by their hash; `data` is base64. */
  readonly blobs: Readonly<Record<string, { readonly mimeType: string; readonly data: string }>>;
}
