import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { endsWithin } from '../runtime/deadline.ts';
import type { TracingSdk } from './telemetry-sdk.ts';

export interface TelemetryOptions {
  /** Told what is wrong, in words for the person at the terminal. */
  readonly warn: (message: string) => void;
  /** Takes secrets out of what `warn` is told. */
  readonly redactor: Redactor;
  /** Aborted by SIGTERM: the budget of the shutdown counts from then on. */
  readonly stop?: AbortSignal;
  readonly variables?: NodeJS.ProcessEnv;
}

/** Limits of the last export, unless the process was told to stop. */
const LONGEST_FLUSH_MS = 3_000;
const SHORTEST_FLUSH_MS = 300;
/** For what is closed after the last export. */
const CLOSING_MS = 1_000;

const PACKAGES = ['exporter-trace-otlp-http@0.223', 'resources@2.12', 'sdk-trace-base@2.12'];
const INSTALL_PACKAGES = `npm install ${PACKAGES.map((name) => `@opentelemetry/${name}`).join(' ')}`;
export const PACKAGES_MISSING = `An OTLP endpoint is set, but the packages that export spans are missing: ${INSTALL_PACKAGES}`;

/**
 * Exports the spans of this process where the standard variables of OpenTelemetry name a collector
 * (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`). What is disposed of exports the rest, within what
 * is left of the budget. That it cannot be done is told, and is no reason not to start.
 */
export async function startTelemetry(options: TelemetryOptions): Promise<AsyncDisposable> {
  const { variables = process.env } = options;
  const warn = (message: string) => options.warn(options.redactor.text(message));
  const sdk = wantsSpans(variables) ? await loadSdk(variables, warn) : undefined;
  let stoppedAt: number | undefined;
  const onStop = () => {
    stoppedAt = performance.now();
  };
  options.stop?.addEventListener('abort', onStop, { once: true });
  return {
    async [Symbol.asyncDispose]() {
      options.stop?.removeEventListener('abort', onStop);
      if (sdk !== undefined) await flush(sdk, toLimit(stoppedAt), warn);
    },
  };
}

/** The collector that the standard variables name; undefined where spans are not wanted. */
export function collectorOf(variables: NodeJS.ProcessEnv): string | undefined {
  if (!wantsSpans(variables)) return undefined;
  return variables.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?.trim() || variables.OTEL_EXPORTER_OTLP_ENDPOINT?.trim();
}

/** True for the error of an import of a package that is not installed. */
export function isPackageMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
}

function wantsSpans(variables: NodeJS.ProcessEnv): boolean {
  const read = (name: string) => variables[name]?.trim() ?? '';
  if (read('OTEL_SDK_DISABLED').toLowerCase() === 'true' || read('OTEL_TRACES_EXPORTER') === 'none') return false;
  return read('OTEL_EXPORTER_OTLP_ENDPOINT') + read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
}

async function loadSdk(variables: NodeJS.ProcessEnv, warn: (message: string) => void): Promise<TracingSdk | undefined> {
  const protocol = variables.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? variables.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol === 'grpc') warn('OTEL_EXPORTER_OTLP_PROTOCOL is grpc: Proctor exports over HTTP (port 4318), as JSON');
  try {
    const { registerTracingSdk } = await import('./telemetry-sdk.ts');
    return registerTracingSdk(variables, warn);
  } catch (error) {
    if (!isPackageMissing(error)) throw error;
    warn(PACKAGES_MISSING);
    return undefined;
  }
}

function toLimit(stoppedAt: number | undefined): number {
  if (stoppedAt === undefined) return LONGEST_FLUSH_MS;
  const leftMs = SHUTDOWN_GRACE_MS.service - CLOSING_MS - (performance.now() - stoppedAt);
  return Math.min(LONGEST_FLUSH_MS, Math.max(SHORTEST_FLUSH_MS, leftMs));
}

async function flush(sdk: TracingSdk, limitMs: number, warn: (message: string) => void): Promise<void> {
  // A failed export was told when it failed.
  const isDone = await endsWithin(
    sdk.flush().catch(() => {}),
    limitMs,
  );
  sdk.destroy();
  if (isDone) return;
  warn(`The last spans were not exported: the collector did not take them within ${Math.round(limitMs)} ms`);
  // The exporter tries again for some seconds, and nothing else holds this process then.
  setTimeout(() => process.exit(), CLOSING_MS).unref();
}
