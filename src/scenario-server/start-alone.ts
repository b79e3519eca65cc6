import { createTraceStore, type TraceStoreOptions } from '../trace/database-store.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { type ScenarioServer, type ScenarioServerOptions, startScenarioServer } from './start.ts';

/**
 * Starts a scenario server that has no run service beside it: unless `appUrl` names another place, it shows the traces
 * itself, and a trace in its store has the address that its replies have (contract section 4).
 *
 * @throws as `startScenarioServer`.
 */
export async function startAlone(
  options: Omit<ScenarioServerOptions, 'store'> & Pick<TraceStoreOptions, 'redactor'>,
): Promise<{ readonly server: ScenarioServer; readonly store: TraceStore }> {
  let appUrl = options.appUrl ?? '';
  const store = createTraceStore(options.database, { appUrl: () => appUrl, redactor: options.redactor });
  const server = await startScenarioServer({ ...options, store });
  // The port of a server is unknown before it listens.
  appUrl ||= server.url;
  return { server, store };
}
