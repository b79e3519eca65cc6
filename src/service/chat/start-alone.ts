import { createTraceStore, type TraceStoreOptions } from '../../store/traces/database-store.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { type ScenarioServer, type ScenarioServerOptions, startScenarioServer } from './start.ts';

/**
 * Starts a scenario server without a run service. It serves the trace pages itself unless `appUrl` is set. Traces in
 * its store and its replies have the same address (contract section 4).
 *
 * @throws as `startScenarioServer`.
 */
export async function startAlone(
  options: Omit<ScenarioServerOptions, 'store'> & Pick<TraceStoreOptions, 'redactor'>,
): Promise<{ readonly server: ScenarioServer; readonly store: TraceStore }> {
  let appUrl = options.appUrl ?? '';
  const store = createTraceStore(options.database, { appUrl: () => appUrl, redactor: options.redactor });
  const server = await startScenarioServer({ ...options, store });
  // The port is known only after the server listens.
  appUrl ||= server.url;
  return { server, store };
}
