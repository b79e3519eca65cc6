import { type Context, ROOT_CONTEXT, type SpanContext, TraceFlags, trace } from '@opentelemetry/api';

/** The trace context in a request's `_meta`. SEP-414 gives these names no prefix. */
export type TraceMeta = { readonly traceparent?: string; readonly tracestate?: string };

/**
 * The context in which the spans of a run start, so that its trace id is that of OpenTelemetry. It names a parent that
 * nobody exports: `isOwnRoot` tells it, and a sampler and an exporter that know of it take what starts there for a root.
 * Those that do not see a parent from elsewhere, which is sampled.
 */
export function toRootContext(traceId: string): Context {
  const spanContext = { traceId, spanId: toRootSpanId(traceId), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

/** Whether a parent is the one that `toRootContext` makes up. */
export function isOwnRoot(parent: SpanContext | undefined): boolean {
  return parent !== undefined && parent.spanId === toRootSpanId(parent.traceId);
}

/** @returns nothing where there is no trace. */
export function toTraceMeta(spanContext: SpanContext | undefined): TraceMeta {
  if (spanContext === undefined || !trace.isSpanContextValid(spanContext)) return {};
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize() ?? '';
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

/** A function of the trace id, so that every process makes up the same. An id of zeros alone is none. */
function toRootSpanId(traceId: string): string {
  const spanId = traceId.slice(16);
  return /^0*$/.test(spanId) ? '0000000000000001' : spanId;
}
