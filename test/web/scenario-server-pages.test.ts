import { expect, it } from 'vitest';
import type { FinishedSession } from '../../src/contract/session.ts';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { serve } from '../service/chat/server.ts';
import { send } from '../support/http/http-server.ts';

async function open() {
  const database = await openDatabase('sqlite::memory:');
  const accounts = createAccounts(database);
  const server = await serve({ database, accounts, appUrl: undefined });
  const { json } = await server.chat('Hello', { scenario: 'counter:count_to', scenario_args: { target: 0 } });
  const { svc } = json as { readonly svc: Pick<FinishedSession, 'trace_id' | 'trace_url'> };
  const paths = [`/v1/traces/${svc.trace_id}`, '/v1/traces', '/v1/traces/summary', `/data/traces/${svc.trace_id}`];
  const read = async (headers: Readonly<Record<string, string>>) =>
    (await Promise.all(paths.map((path) => send(server.url, path, { headers })))).map(({ status }) => status);
  return { server, accounts, read, traceId: svc.trace_id };
}

it('a scenario server that asks nobody for a key still shows traces to signed-in browsers alone', async () => {
  const { accounts, read } = await open();
  expect(await read({})).toEqual([401, 401, 401, 401]);
  expect(await read({ authorization: 'Bearer anything' })).toEqual([401, 401, 401, 401]);
  const { session } = await accounts.createBrowserSession('local');
  expect(await read({ cookie: `proctor_session=${session}` })).toEqual([200, 200, 200, 200]);
  const { session: others } = await accounts.createBrowserSession('team');
  expect(await read({ cookie: `proctor_session=${others}` })).toEqual([404, 200, 200, 404]);
});

it('what is for its pages alone is no part of what it describes, and the pages of a run service are not there', async () => {
  const { server, accounts } = await open();
  const { json } = await send(server.url, '/openapi.json');
  const { paths } = json as { readonly paths: Readonly<Record<string, unknown>> };
  expect(Object.keys(paths).filter((path) => /traces|data|assets/.test(path))).toEqual([]);
  const { session } = await accounts.createBrowserSession('local');
  const headers = { cookie: `proctor_session=${session}` };
  const list = await send(server.url, '/traces', { headers });
  expect([list.status, /data-runs-path="([^"]+)"/.exec(list.text)?.[1]]).toEqual([200, '/traces']);
  expect((await send(server.url, '/compare', { headers })).status).toBe(200);
  const usage = await send(server.url, '/usage', { headers });
  expect([usage.status, usage.json]).toMatchObject([404, { error: { code: 'unknown_url' } }]);
});
