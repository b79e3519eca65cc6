import { type OrsServerOptions, startOrsServer } from '../../../src/service/bridges/ors/start.ts';
import { COUNTER } from '../runs/service.ts';
import { openBridge } from './open-bridge.ts';
import { createOrsClient } from './ors-client.ts';

/** An ORS server of the counter on a free port of loopback, until the test ends. */
export async function serveOrs(options: Partial<OrsServerOptions> = {}) {
  const environments = new Map([['counter', COUNTER]]);
  const bridge = await openBridge(options, ({ database, store, ...parts }) =>
    startOrsServer({ environments, ...parts, ...options, database, store }),
  );
  return { ...bridge, client: createOrsClient(bridge.server.url, options.apiKey) };
}
