import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';
import { endsWithin } from '../../support/runtime/deadline.ts';
import type { TracingSdk } from './telemetry-sdk.ts';

export interface TelemetryOptions {
  /** Gets warnings for the user. */
  readonly warn: (message: string) => void;
  /** Redacts secrets from warnings. */
  readonly redactor: Redactor;
  /** Aborted by SIGTERM, which starts the shutdown budget. */
  readonly stop?: AbortSignal;
  readonly variables?: NodeJS.ProcessEnv;
}

/** Limits of the last export in milliseconds, unless the process got SIGTERM. */
const LONGEST_FLUSH_MS = 3_000;
const SHORTEST_FLUSH_MS = 300;
/** Milliseconds for the steps after the last export. */
const CLOSING_MS = 1_000;

const PACKAGES = ['exporter-trace-otlp-http@0.223', 'resources@2.12', 'sdk-trace-base@2.12'];
const INSTALL_PACKAGES = `npm install ${PACKAGES.map((name) => `@opentelemetry/${name}`).join(' ')}`;
export const PACKAGES_MISSING = `An OTLP endpoint is set, but the packages that export spans are missing: ${INSTALL_PACKAGES}`;

/**
 * Exports the spans of this process if a standard variable of OpenTelemetry names a collector
 * (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`). Disposing exports the rest within the
 * remaining budget. A problem is a warning and does not prevent the start.
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

/** Collector from the standard variables; undefined if spans are not wanted. */
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
  // A failed export has already been reported.
  const isDone = await endsWithin(
    sdk.flush().catch(() => {}),
    limitMs,
  );
  sdk.destroy();
  if (isDone) return;
  warn(`The last spans were not exported: the collector did not take them within ${Math.round(limitMs)} ms`);
  // The exporter retries for some seconds, which would keep the process alive.
  setTimeout(() => process.exit(), CLOSING_MS).unref();
}
