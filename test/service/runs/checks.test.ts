import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { type CheckEvent, type CheckRequest, checkReportSchema } from '../../../src/contract/service/check.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import paysIdleness from '../../evaluation/checks/unsound/pays-idleness.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { startService, type TestService } from './service.ts';

const SHELF: CheckRequest = { environments: ['shelf'], tasks: 1 };

/** An environment whose setup never ends, with its sessions that are open. */
function openHanging() {
  const begun = deferred<void>();
  const open = new Set<EnvironmentServer>();
  const target = inMemory(() => {
    const env = new EnvironmentServer({ name: 'hanging' });
    env.close(() => void open.delete(env));
    env.scenario('wait', {}, async function* () {
      open.add(env);
      begun.resolve();
      await new Promise(() => {});
      yield 'Wait.';
      return 1;
    });
    return env;
  });
  return { target, begun: begun.promise, open };
}

const clientOf = (service: TestService, key = service.key) =>
  createServiceClient({ baseUrl: service.url, apiKey: key });

async function readAll(events: AsyncIterable<CheckEvent>): Promise<readonly CheckEvent[]> {
  const all: CheckEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const post = (service: TestService, body: object) =>
  service.request('/v1/checks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe('a check at a service', { timeout: 60_000 }, () => {
  it('sends progress, its findings and last its report, which it stores for the account of the key alone', async () => {
    const service = await startService({ environments: new Map([['shelf', inMemory(paysIdleness)]]), worker: false });
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const client = clientOf(service, key);
    const events = await readAll(client.checks.run(SHELF));
    expect(events[0]).toMatchObject({ type: 'progress', environment: 'shelf', sessions: 1, max_ms: 300_000 });
    const last = events.at(-1);
    if (last?.type !== 'report') throw new Error('The last event is no report');
    const found = events.flatMap((event) => (event.type === 'finding' ? [event.finding] : []));
    expect(found).toEqual(last.report.environments.flatMap(({ findings }) => findings));
    expect(found[0]).toMatchObject({ finding: 'idle', level: 'error', trace_id: expect.any(String) });
    expect([last.unstored, last.check_url]).toEqual([[], `https://app.example/checks/${last.check_id}`]);
    expect(checkReportSchema.parse(await client.checks.get(last.check_id ?? ''))).toEqual(last.report);
    expect(await client.traces.get(found[0]?.trace_id ?? '')).toMatchObject({ origin: 'check', reward: 1 });
    expect((await clientOf(service).checks.list()).data).toEqual([]);
  });

  it('is told with its status what it is refused for, before anything is started', async () => {
    const service = await startService({ environments: new Map([['shelf', inMemory(paysIdleness)]]), worker: false });
    const refused = async (body: object) => {
      const { status, json } = await post(service, body);
      return [status, json];
    };
    expect(await refused({ environments: ['shelf', 'shelves'] })).toEqual([
      404,
      { error: expect.objectContaining({ code: 'env_not_found', param: 'environments' }) },
    ]);
    expect(await refused({})).toEqual([
      400,
      { error: expect.objectContaining({ code: 'missing_required_parameter', param: 'environments' }) },
    ]);
    expect(await refused({ ...SHELF, timeout_seconds: 4_000 })).toEqual([
      400,
      { error: expect.objectContaining({ param: 'timeout_seconds', message: expect.stringContaining('1 to 3600') }) },
    ]);
    const keyless = await clientOf(service, 'wrong')
      .checks.run(SHELF)
      .next()
      .catch((error) => error);
    expect(keyless).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect((await clientOf(service).checks.list()).data).toEqual([]);
  });

  it('runs once at a time for an account, and ends with its sessions when the client goes away', async () => {
    const { target, begun, open } = openHanging();
    const environments = new Map([['hanging', target]]);
    const service = await startService({ environments, worker: false });
    const gone = new AbortController();
    const first = readAll(clientOf(service).checks.run({ environments: ['hanging'] }, { signal: gone.signal }));
    first.catch(() => {});
    await begun;
    const second = await post(service, { environments: ['hanging'] });
    expect([second.status, second.headers['retry-after'], second.json]).toEqual([
      429,
      '5',
      { error: expect.objectContaining({ code: 'quota_exceeded' }) },
    ]);
    gone.abort(new Error('enough'));
    await expect(first).rejects.toThrow('enough');
    await until(() => open.size === 0);
    await until(async () => (await post(service, { environments: ['unknown'] })).status === 404);
    environments.set('hanging', inMemory(paysIdleness));
    await until(async () => (await post(service, { environments: ['hanging'], tasks: 1 })).status === 200);
  });

  it('ends when the service shuts down, which waits for its sessions', async () => {
    const { target, begun, open } = openHanging();
    const service = await startService({ environments: new Map([['hanging', target]]), worker: false });
    const check = readAll(clientOf(service).checks.run({ environments: ['hanging'] }));
    const refused = expect(check).rejects.toMatchObject({ code: 'shutting_down' });
    await begun;
    await service.close();
    expect(open.size).toBe(0);
    await refused;
  });

  it('is complete where its report cannot be stored, and says so', async () => {
    const service = await startService({ environments: new Map([['shelf', inMemory(paysIdleness)]]), worker: false });
    await service.database.kysely.schema.dropTable('check_findings').execute();
    const last = (await readAll(service.client.checks.run(SHELF))).at(-1);
    expect(last).toMatchObject({
      type: 'report',
      check_id: null,
      check_url: null,
      report: { counts: { error: expect.any(Number) } },
      unstored: [{ code: 'internal_error' }],
    });
  });
});
