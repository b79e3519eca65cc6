import { type Context, ROOT_CONTEXT, type SpanContext, TraceFlags, trace } from '@opentelemetry/api';

/** The trace context in a request's `_meta`. SEP-414 gives these names no prefix. */
export type TraceMeta = { readonly traceparent?: string; readonly tracestate?: string };

/**
 * The context in which the spans of a run start, so that OpenTelemetry uses the run's trace id. It has an artificial
 * parent that is never exported, and `isOwnRoot` recognizes it. Samplers and exporters that use `isOwnRoot` treat its
 * spans as roots; others see a remote, sampled parent.
 */
export function toRootContext(traceId: string): Context {
  const spanContext = { traceId, spanId: toRootSpanId(traceId), traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, spanContext);
}

/** True for the artificial parent of `toRootContext`. */
export function isOwnRoot(parent: SpanContext | undefined): boolean {
  return parent !== undefined && parent.spanId === toRootSpanId(parent.traceId);
}

/** @returns an empty object without a trace. */
export function toTraceMeta(spanContext: SpanContext | undefined): TraceMeta {
  if (spanContext === undefined || !trace.isSpanContextValid(spanContext)) return {};
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize() ?? '';
  return tracestate === '' ? { traceparent } : { traceparent, tracestate };
}

/** The parent's span id, derived from the trace id so that every process gets the same. An id of zeros is invalid. */
function toRootSpanId(traceId: string): string {
  const spanId = traceId.slice(16);
  return /^0*$/.test(spanId) ? '0000000000000001' : spanId;
}
