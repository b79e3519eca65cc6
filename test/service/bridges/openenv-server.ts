import { type OpenEnvServerOptions, startOpenEnvServer } from '../../../src/service/bridges/openenv/start.ts';
import { COUNTER } from '../runs/service.ts';
import { openBridge } from './open-bridge.ts';
import { connectOpenEnv } from './openenv-client.ts';

/** An OpenEnv server of the counter on a free port of loopback, until the test ends. */
export async function serveOpenEnv(options: Partial<OpenEnvServerOptions> = {}) {
  const scenario = options.environment === undefined ? 'count_to' : undefined;
  const bridge = await openBridge(options, ({ database, store, ...parts }) =>
    startOpenEnvServer({ environment: ['counter', COUNTER], scenario, ...parts, ...options, database, store }),
  );
  return { ...bridge, connect: (path?: string) => connectOpenEnv(bridge.server.url, path) };
}
