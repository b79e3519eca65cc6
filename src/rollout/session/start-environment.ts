import type { ConnectOptions, EnvironmentClient } from '../../environment/client/environment-client.ts';
import type { EventRecorder } from '../../store/traces/event-recorder.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { during, setPeer, startMcpSpan } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import { limitLog } from './limit-log.ts';
import { toVersions } from './versions.ts';

export interface StartEnvironmentOptions {
  /** Connects a fresh environment. */
  connect(options: ConnectOptions): Promise<EnvironmentClient>;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
  /** SHA-256 of the environment's code, hex; null if unknown. */
  readonly environmentHash: string | null;
  /** Span of the run or the turn that needs it. */
  readonly span: TraceSpan;
}

/**
 * Connects the environment of a rollout, and records its start and its log. The caller must close it. If the signal is
 * aborted before the connection is ready, it is closed here.
 *
 * @throws BoundaryError boundary `environment`; the reason of the signal.
 */
export async function startEnvironment(options: StartEnvironmentOptions): Promise<EnvironmentClient> {
  const { recorder } = options;
  const arrivedAt = performance.now();
  let startedAt = arrivedAt;
  const onAdmitted = () => {
    startedAt = performance.now();
  };
  const onLog = limitLog((log) => recorder.record({ type: 'log', ...log }));
  const client = await during(startMcpSpan(options.span, 'initialize'), async (span) => {
    const connected = await withDeadline(
      async (signal) => {
        const late = await options.connect({ signal, onLog, onAdmitted });
        // The caller no longer waits, so the connection is closed here.
        if (signal.aborted) await late.close();
        return late;
      },
      { signal: options.signal },
    );
    setPeer(span, connected);
    return connected;
  });
  recorder.record({
    type: 'environment.ready',
    name: client.name,
    versions: toVersions(client, options.environmentHash),
    waited_ms: Math.round(startedAt - arrivedAt),
    duration_ms: Math.round(performance.now() - startedAt),
  });
  return client;
}
