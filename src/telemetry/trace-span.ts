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
  /** 32 hex digits: that of the run or of the chat session. */
  readonly traceId: string;
  /** Takes secrets out of every text that a span is given. */
  readonly redactor?: Redactor | undefined;
}

export type SpanAttributes = Attributes;

/** Limit of one attribute. */
const MAX_CONTENT_CHARACTERS = 64 * 1024;

interface SpanScope {
  readonly redactor: Redactor;
  /** Whether messages, arguments and results are exported. */
  readonly capturesContent: boolean;
}

/**
 * An operation as OpenTelemetry sees it, or where such operations start. It knows its context and hands it on by itself,
 * so that no context manager is needed. Without an SDK nothing is recorded, and next to nothing is spent.
 */
export class TraceSpan {
  /** Where the spans of a trace start. It is no span itself, and there is nothing to end. */
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

  /** False: whatever it is told is dropped, so that it need not be worked out. */
  get isRecording(): boolean {
    return trace.getSpan(this.#context)?.isRecording() === true;
  }

  /** Whether it wants messages, arguments and results (`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`). */
  get wantsContent(): boolean {
    return this.#scope.capturesContent && this.isRecording;
  }

  /** For `_meta` of the requests that are made in it. */
  get meta(): TraceMeta {
    return toTraceMeta(trace.getSpanContext(this.#context));
  }

  /** A span in this one. Whoever starts it ends it. @param startTime milliseconds since 1970; default now. */
  start(name: string, kind: SpanKind, attributes: SpanAttributes = {}, startTime?: number): TraceSpan {
    if (trace.getSpanContext(this.#context) === undefined) return this; // NO_SPAN
    const options = { kind, attributes: this.#clean(attributes), ...(startTime === undefined ? {} : { startTime }) };
    // Asked for each time: an SDK may be registered, or taken away, while the process runs.
    const span = trace.getTracer('proctor', PROCTOR_VERSION).startSpan(name, options, this.#context);
    return new TraceSpan(trace.setSpan(this.#context, span), this.#scope);
  }

  set(attributes: SpanAttributes): void {
    if (this.isRecording) trace.getSpan(this.#context)?.setAttributes(this.#clean(attributes));
  }

  /** A value as JSON, where content is wanted: without secrets, and cut where it is too long for a backend. */
  setContent(name: string, value: unknown): void {
    if (!this.wantsContent) return;
    const text = this.#scope.redactor.text(JSON.stringify(value) ?? 'null');
    const cut = text.length <= MAX_CONTENT_CHARACTERS ? text : `${text.slice(0, MAX_CONTENT_CHARACTERS)}…`;
    trace.getSpan(this.#context)?.setAttribute(name, cut);
  }

  event(name: string, attributes: SpanAttributes = {}): void {
    if (this.isRecording) trace.getSpan(this.#context)?.addEvent(name, this.#clean(attributes));
  }

  /** @param type one of few: the convention's `error.type`. */
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

  /** Runs what belongs to it, so that instrumentations of others, where there is a context manager, see it as theirs. */
  run<Result>(work: () => Result): Result {
    return context.with(this.#context, work);
  }

  #clean(attributes: SpanAttributes): SpanAttributes {
    return this.#scope.redactor.json(attributes);
  }
}

/** For what has no trace: nothing starts in it, and requests carry nothing. */
export const NO_SPAN = new TraceSpan(ROOT_CONTEXT, { redactor: NO_REDACTION, capturesContent: false });
