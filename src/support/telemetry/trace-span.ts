import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { NO_REDACTION, type Redactor } from '../redaction/redactor.ts';
import { PROCTOR_VERSION } from '../runtime/version.ts';
import { type TraceMeta, toRootContext, toTraceMeta } from './trace-context.ts';

export interface TraceOptions {
  /** 32 hex digits: the id of the run or of the chat session. */
  readonly traceId: string;
  /** Removes secrets from every text of a span. */
  readonly redactor?: Redactor | undefined;
}

export type SpanAttributes = Attributes;

/** Largest length of one attribute, in characters. */
const MAX_CONTENT_CHARACTERS = 64 * 1024;

interface SpanScope {
  readonly redactor: Redactor;
  /** True when messages, arguments and results are exported. */
  readonly capturesContent: boolean;
}

/**
 * A span of OpenTelemetry, or the root under which spans start. It passes its context on explicitly, so that no context
 * manager is needed. Without an SDK it records nothing and costs almost nothing.
 */
export class TraceSpan {
  /** The root of a trace's spans. It is not a span itself and needs no end. */
  static root({ traceId, redactor = NO_REDACTION }: TraceOptions): TraceSpan {
    const capturesContent = process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() === 'true';
    return new TraceSpan(toRootContext(traceId), { redactor, capturesContent });
  }

  readonly #context: Context;
  readonly #scope: SpanScope;

  constructor(spanContext: Context, scope: SpanScope) {
    this.#context = spanContext;
    this.#scope = scope;
  }

  /** False when values are dropped, so that the caller need not compute them. */
  get isRecording(): boolean {
    return trace.getSpan(this.#context)?.isRecording() === true;
  }

  /** True when messages, arguments and results are captured (`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`). */
  get wantsContent(): boolean {
    return this.#scope.capturesContent && this.isRecording;
  }

  /** Trace context for `_meta` of requests in this span. */
  get meta(): TraceMeta {
    return toTraceMeta(trace.getSpanContext(this.#context));
  }

  /** Starts a child span. The caller ends it. @param startTime milliseconds since 1970; default now. */
  start(name: string, kind: SpanKind, attributes: SpanAttributes = {}, startTime?: number): TraceSpan {
    if (trace.getSpanContext(this.#context) === undefined) return this; // NO_SPAN
    const options = { kind, attributes: this.#clean(attributes), ...(startTime === undefined ? {} : { startTime }) };
    // The tracer is requested each time, because an SDK may be registered or removed while the process runs.
    const span = trace.getTracer('proctor', PROCTOR_VERSION).startSpan(name, options, this.#context);
    return new TraceSpan(trace.setSpan(this.#context, span), this.#scope);
  }

  set(attributes: SpanAttributes): void {
    if (this.isRecording) trace.getSpan(this.#context)?.setAttributes(this.#clean(attributes));
  }

  /** Sets a value as JSON if content capture is on, without secrets and cut to a length that backends accept. */
  setContent(name: string, value: unknown): void {
    if (!this.wantsContent) return;
    const text = this.#scope.redactor.text(JSON.stringify(value) ?? 'null');
    const cut = text.length <= MAX_CONTENT_CHARACTERS ? text : `${text.slice(0, MAX_CONTENT_CHARACTERS)}…`;
    trace.getSpan(this.#context)?.setAttribute(name, cut);
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (this.isRecording) trace.getSpan(this.#context)?.addEvent(name, this.#clean(attributes));
  }

  /** @param type a value from a small set, for the attribute `error.type`. */
  fail(type: string, message?: string): void {
    if (!this.isRecording) return;
    const span = trace.getSpan(this.#context);
    span?.setAttribute('error.type', type);
    const cleaned = message === undefined ? {} : { message: this.#scope.redactor.text(message) };
    span?.setStatus({ code: SpanStatusCode.ERROR, ...cleaned });
  }

  end(): void {
    trace.getSpan(this.#context)?.end();
  }

  /**
   * Runs work with this span as the active one, so that other instrumentations attach to it if there is a context
   * manager.
   */
  run<Result>(work: () => Result): Result {
    return context.with(this.#context, work);
  }

  #clean(attributes: SpanAttributes): SpanAttributes {
    return this.#scope.redactor.json(attributes);
  }
}

/** Used without a trace: it starts no spans, and requests carry no trace context. */
export const NO_SPAN = new TraceSpan(ROOT_CONTEXT, { redactor: NO_REDACTION, capturesContent: false });
