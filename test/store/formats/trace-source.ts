import { createTraceSource, type TraceSource } from '../../../src/cli/exchange/export/trace-source.ts';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { createBlobRoute } from '../../../src/service/traces/blob-route.ts';
import { createTracesRoutes } from '../../../src/service/traces/traces-route.ts';
import type { TraceStore } from '../../../src/store/traces/trace-store.ts';
import { LOCAL_CALLER } from '../../../src/support/http/api/api-keys.ts';
import { createInProcessFetch } from '../../../src/support/http/api/in-process-fetch.ts';
import { groupOf, RouteTable } from '../../../src/support/http/api/route-table.ts';

/** The traces of the account `local` in a store, by the routes of a service. */
export function sourceOf(store: TraceStore): TraceSource {
  const shared = { store, access: 'key-or-browser' } as const;
  const { signal: closing } = new AbortController();
  const table = new RouteTable([groupOf(...createTracesRoutes({ ...shared, closing }), createBlobRoute(shared))]);
  const logger = { warn: () => {}, error: () => {} };
  const fetch = createInProcessFetch({ table, caller: LOCAL_CALLER, logger });
  return createTraceSource(createServiceClient({ baseUrl: 'http://in.process', fetch, maxRetries: 0 }));
}
