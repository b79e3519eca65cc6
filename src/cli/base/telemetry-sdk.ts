import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { messageOf } from '../../contract/errors.ts';
import { PROCTOR_VERSION } from '../../support/runtime/version.ts';
import { isOwnRoot } from '../../support/telemetry/trace-context.ts';

export interface TracingSdk {
  /** Exports the waiting spans and stops. @throws if an export fails. */
  flush(): Promise<void>;
  /** Drops the spans that are not exported yet. */
  destroy(): void;
}

/**
 * Registers an SDK that exports spans over OTLP/HTTP, configured by the standard variables. Only this file imports the
 * packages of the SDK, which are optional: import it only if spans are wanted.
 *
 * @param warn called once when exports start to fail, and once when they work again.
 */
export function registerTracingSdk(variables: NodeJS.ProcessEnv, warn: (message: string) => void): TracingSdk {
  const agents: (HttpAgent | HttpsAgent)[] = [];
  const exporter = new OTLPTraceExporter({
    httpAgentOptions: (protocol) => {
      const agent = protocol === 'https:' ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
      agents.push(agent);
      return agent;
    },
  });
  const resource = resourceFromAttributes({ 'service.name': 'proctor', 'service.version': PROCTOR_VERSION });
  const provider = new BasicTracerProvider({
    // Attributes from the variables override the others.
    resource: resource.merge(detectResources({ detectors: [envDetector] })),
    sampler: withOwnRoots(createSampler(variables, warn)),
    spanProcessors: [new BatchSpanProcessor(new RootExporter(exporter, warn))],
  });
  trace.setGlobalTracerProvider(provider);
  return {
    async flush() {
      try {
        await provider.shutdown();
      } finally {
        trace.disable();
      }
    },
    destroy() {
      for (const agent of agents) agent.destroy();
    },
  };
}

/** Samples the first span of a run as a root, since its parent id is artificial. */
function withOwnRoots(sampler: Sampler): Sampler {
  return {
    shouldSample: (context, traceId, ...rest) =>
      sampler.shouldSample(isOwnRoot(trace.getSpanContext(context)) ? ROOT_CONTEXT : context, traceId, ...rest),
    toString: () => sampler.toString(),
  };
}

/** Reads `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`. */
function createSampler(variables: NodeJS.ProcessEnv, warn: (message: string) => void): Sampler {
  const name = variables.OTEL_TRACES_SAMPLER?.trim() || 'parentbased_always_on';
  const [kind = '', isParentBased] = name.startsWith('parentbased_') ? [name.slice(12), true] : [name, false];
  const root = createRootSampler(kind, variables.OTEL_TRACES_SAMPLER_ARG, warn);
  if (root === undefined) {
    warn(
      `OTEL_TRACES_SAMPLER is ${JSON.stringify(name)}, which is no sampler that Proctor has: all spans are exported`,
    );
    return new AlwaysOnSampler();
  }
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

function createRootSampler(
  kind: string,
  argument: string | undefined,
  warn: (message: string) => void,
): Sampler | undefined {
  if (kind === 'always_on') return new AlwaysOnSampler();
  if (kind === 'always_off') return new AlwaysOffSampler();
  if (kind !== 'traceidratio') return undefined;
  const ratio = argument === undefined || argument.trim() === '' ? 1 : Number(argument);
  if (ratio >= 0 && ratio <= 1) return new TraceIdRatioBasedSampler(ratio);
  warn(`OTEL_TRACES_SAMPLER_ARG is ${JSON.stringify(argument)}; it has to be 0 to 1: all spans are exported`);
  return new AlwaysOnSampler();
}

/** Exports the first span of a run without its artificial parent, and warns if the collector cannot be reached. */
class RootExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #warn: (message: string) => void;
  #isFailing = false;

  constructor(exporter: SpanExporter, warn: (message: string) => void) {
    this.#exporter = exporter;
    this.#warn = warn;
  }

  export(spans: ReadableSpan[], done: Parameters<SpanExporter['export']>[1]): void {
    this.#exporter.export(spans.map(withoutOwnRoot), (result) => {
      const isFailed = result.code !== 0;
      if (isFailed && !this.#isFailing) this.#warn(`Spans could not be exported: ${messageOf(result.error)}`);
      if (!isFailed && this.#isFailing) this.#warn('Spans are exported again');
      this.#isFailing = isFailed;
      done(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }
}

function withoutOwnRoot(span: ReadableSpan): ReadableSpan {
  if (!isOwnRoot(span.parentSpanContext)) return span;
  return Object.create(span, { parentSpanContext: { value: undefined } });
}
