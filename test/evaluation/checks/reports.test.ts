import { expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { checkListSchema, storedCheckSchema } from '../../../src/contract/service/check.ts';
import {
  countPrunableReports,
  type PruneReportsQuery,
  pruneReports,
} from '../../../src/evaluation/checks/reports/remove-reports.ts';
import { errorOf } from '../../service/chat/server.ts';
import { openParts, startService, type TestService } from '../../service/runs/service.ts';
import { finished, newTrace, started } from '../../store/traces/events.ts';
import { checked, finding, reportOf, save } from './reports.ts';

const SECRET = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD';

async function get(service: TestService, path: string) {
  const reply = await service.request(path);
  expect([path, reply.status, reply.status === 200 ? '' : reply.text]).toEqual([path, 200, '']);
  return reply.json;
}

const one = async (service: TestService, id: string, query = '') =>
  storedCheckSchema.parse(await get(service, `/v1/checks/${id}${query}`));
const list = async (service: TestService, query = '') =>
  checkListSchema.parse(await get(service, `/v1/checks${query}`));

it('a report is read as it was told, with its address and time', async () => {
  const service = await startService({ worker: false });
  const note = finding({ finding: 'clean', level: 'note', scenario: null, task: null, message: 'Not tried.' });
  const report = reportOf(
    checked({ findings: [finding(), note] }),
    checked({ name: 'retail', may_share_process: null, findings: [] }),
    checked({ name: 'travel', may_share_process: false, findings: [finding({ level: 'warning' })] }),
  );
  const id = await save(service.database, report, { at: 1_000 });
  const { check_id, check_url, created_at, next_cursor, environments, ...rest } = await one(service, id);
  expect({ ...rest, environments: environments.map(({ counts: _counts, ...each }) => each) }).toEqual(report);
  expect([check_id, check_url, created_at, next_cursor]).toEqual([
    id,
    `https://app.example/checks/${id}`,
    '1970-01-01T00:00:01.000Z',
    null,
  ]);
  expect(environments.map(({ counts }) => Object.values(counts))).toEqual([
    [1, 0, 1],
    [0, 0, 0],
    [0, 1, 0],
  ]);
  expect((await list(service)).data).toEqual([
    {
      ...{ object: 'check', check_id, check_url, created_at, counts: report.counts },
      environments: environments.map(({ name, may_share_process, counts }) => ({ name, may_share_process, counts })),
    },
  ]);
});

it('findings come page by page, errors of all environments first, and by environment, level and kind', async () => {
  const service = await startService({ worker: false });
  const mixed = (['note', 'warning', 'error'] as const).flatMap((level) =>
    Array.from({ length: 3 }, (_, index) => finding({ level, finding: index === 0 ? 'leak' : 'idle' })),
  );
  const id = await save(
    service.database,
    reportOf(checked({ name: 'a', findings: mixed }), checked({ name: 'b', findings: mixed })),
  );
  const told: string[] = [];
  for (let cursor = ''; ; ) {
    const page = await one(service, id, `?limit=6${cursor}`);
    told.push(...page.environments.flatMap(({ name, findings }) => findings.map(({ level }) => `${level[0]}${name}`)));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(told.join(' ')).toBe('ea ea ea eb eb eb wa wa wa wb wb wb na na na nb nb nb');
  const ofB = await one(service, id, '?env_name=b&level=error&finding=leak');
  expect(ofB.environments.map(({ name, findings }) => [name, findings.length])).toEqual([['b', 1]]);
  const { next_cursor } = await one(service, id, '?limit=4');
  for (const query of [
    '?limit=0',
    '?limit=1001',
    '?level=bad',
    '?finding=x',
    '?cursor=x',
    `?cursor=${next_cursor}&level=note`,
  ]) {
    const reply = await service.request(`/v1/checks/${id}${query}`);
    expect([query, reply.status, errorOf(reply)[1]]).toEqual([query, 400, 'invalid_parameter']);
  }
});

it('reports are listed newest first, page by page, and by an environment of theirs', async () => {
  const service = await startService({ worker: false });
  const { database } = service;
  const ids: string[] = [];
  for (let at = 1; at <= 5; at++) {
    ids.push(await save(database, reportOf(checked({ name: at === 2 ? 'retail' : 'counter' })), { at }));
  }
  const newest = [...ids].reverse();
  const first = await list(service, '?limit=3');
  const second = await list(service, `?limit=3&cursor=${first.next_cursor}`);
  const idsOf = ({ data }: typeof first) => data.map(({ check_id }) => check_id);
  expect([idsOf(first), idsOf(second), second.next_cursor]).toEqual([newest.slice(0, 3), newest.slice(3), null]);
  expect(idsOf(await list(service, '?env_name=retail'))).toEqual([ids[1]]);
  expect(idsOf(await list(service, '?env_name=nobody'))).toEqual([]);
  expect((await service.request(`/v1/checks?env_name=retail&cursor=${first.next_cursor}`)).status).toBe(400);
  expect((await service.request('/v1/checks?limit=101')).status).toBe(400);
});

it('a report of another account is not found, listed or deleted', async () => {
  const service = await startService({ worker: false });
  const theirs = await save(service.database, reportOf(checked()), { account: 'team' });
  expect((await list(service)).data).toEqual([]);
  for (const id of [theirs, 'check_x', `check_${'0'.repeat(32)}`, '%00', 'x'.repeat(5_000)]) {
    for (const method of ['GET', 'DELETE']) {
      const reply = await service.request(`/v1/checks/${id}`, { method });
      expect([id, reply.status, errorOf(reply)[1]]).toEqual([id, 404, 'check_not_found']);
    }
  }
  const { key } = await service.accounts.createKey({ name: 'team', account: 'team' });
  const headers = { authorization: `Bearer ${key}` };
  expect((await service.request(`/v1/checks/${theirs}`, { headers })).status).toBe(200);
  expect((await service.request('/v1/checks', { headers: { authorization: 'Bearer nobody' } })).status).toBe(401);
});

it('a client reads, lists and deletes reports; nothing of a deleted one stays', async () => {
  const service = await startService({ worker: false });
  const { checks } = createServiceClient({ baseUrl: service.url, apiKey: service.key });
  const ids = [await save(service.database, reportOf(checked())), await save(service.database, reportOf(checked()))];
  const all: string[] = [];
  for await (const { check_id } of checks.all({ limit: 1 })) all.push(check_id);
  expect(all.sort()).toEqual([...ids].sort());
  const [first = ''] = ids;
  expect((await checks.get(first, { level: 'error' })).counts.error).toBe(1);
  await checks.delete(first);
  await expect(checks.delete(first)).rejects.toMatchObject({ code: 'check_not_found' });
  const { kysely } = service.database;
  for (const table of ['checks', 'check_environments', 'check_findings'] as const) {
    expect([table, (await kysely.selectFrom(table).select('check_id').execute()).length]).toEqual([table, 1]);
  }
});

it('a report that is deleted while it is read is there wholly, or not at all', async () => {
  const service = await startService({ worker: false });
  for (let round = 0; round < 10; round += 1) {
    const id = await save(service.database, reportOf(checked()));
    const reads = () => Array.from({ length: 4 }, () => service.request(`/v1/checks/${id}`));
    const lists = () => Array.from({ length: 2 }, () => list(service));
    const removing = service.request(`/v1/checks/${id}`, { method: 'DELETE' });
    const [replies, listed] = await Promise.all([Promise.all(reads()), Promise.all(lists())]);
    expect((await removing).status).toBe(204);
    const whole = replies.filter(({ status }) => status !== 404).map(({ json }) => storedCheckSchema.parse(json));
    for (const { environments } of whole) expect(environments.map(({ findings }) => findings.length)).toEqual([1]);
    for (const { data } of listed) for (const { environments } of data) expect(environments).toHaveLength(1);
  }
});

it('a finding tells of its trace as long as that is there, and its account has it', async () => {
  const service = await startService({ worker: false });
  const { store } = service;
  const [kept, gone, theirs] = [newTrace(), newTrace(), newTrace({}, { account: 'team' })];
  for (const trace of [kept, gone, theirs]) {
    await store.create(trace);
    await store.append(trace.traceId, 1, [started, finished()]);
  }
  const findings = [kept, gone, theirs].map(({ traceId }) => finding({ trace_id: traceId }));
  const id = await save(service.database, reportOf(checked({ findings })));
  await store.remove(gone.traceId);
  const [environment] = (await one(service, id)).environments;
  expect(environment?.findings.map(({ trace_id }) => trace_id)).toEqual([kept.traceId, null, null]);
});

it('is stored without secrets, and hostile texts come back as texts, cut where they are huge', async () => {
  const service = await startService({ worker: false });
  const hostile = '<script>alert(1)</script>\u001b[31m\u202eexe\u0007\n"\'\\ \ud800 %00';
  const report = reportOf(
    checked({
      name: hostile,
      scenarios: [{ name: hostile, tasks: 1 }],
      findings: [
        finding({ message: `${hostile}\0`, task: hostile, scenario: hostile, reproduce: hostile }),
        finding({ message: `The key is ${SECRET}.`, reproduce: 'x'.repeat(200_000), task: 'é'.repeat(9_000) }),
      ],
    }),
  );
  const id = await save(service.database, report);
  const [environment] = (await one(service, id)).environments;
  const shown = hostile.replace('\ud800', '\ufffd');
  expect(environment).toMatchObject({ name: shown, scenarios: [{ name: shown, tasks: 1 }] });
  const [first, second] = environment?.findings ?? [];
  expect(first).toMatchObject({ message: `${shown}\u2400`, task: shown, scenario: shown, reproduce: shown });
  expect(second?.message).not.toContain(SECRET);
  expect(second?.message).toMatch(/^The key is \[redacted:.+\]\.$/);
  expect([second?.reproduce.length, second?.task?.length]).toEqual([128 * 1_024 + 1, 513]);
  expect((await list(service, `?env_name=${encodeURIComponent(shown)}`)).data).toHaveLength(1);
});

it('a page of findings ends at 8 MiB', async () => {
  const service = await startService({ worker: false });
  const findings = Array.from({ length: 800 }, () => finding({ message: 'é'.repeat(8_000) }));
  const id = await save(service.database, reportOf(checked({ findings })));
  const first = await service.request(`/v1/checks/${id}`);
  expect(Buffer.byteLength(first.text)).toBeLessThanOrEqual(8 * 1_024 * 1_024);
  const { environments, next_cursor } = storedCheckSchema.parse(first.json);
  const rest = await one(service, id, `?cursor=${next_cursor}`);
  const [told = 0, later = 0] = [environments, rest.environments].map(([each]) => each?.findings.length);
  expect(told).toBeGreaterThan(100);
  expect([told + later, rest.next_cursor]).toEqual([800, null]);
});

it('old reports go by age and number, the newest of all stay', async () => {
  const { database } = await openParts();
  for (let at = 1; at <= 12; at++) await save(database, reportOf(checked()), { at });
  const { signal } = new AbortController();
  const prune = async (query: PruneReportsQuery) => {
    const expected = await countPrunableReports(database, query);
    expect(await pruneReports(database, query, signal)).toBe(expected);
    const rows = await database.kysely.selectFrom('checks').select('created_at').orderBy('created_at').execute();
    return rows.map(({ created_at }) => Number(created_at));
  };
  expect(await prune({ before: 20, keepLast: 20 })).toHaveLength(12);
  expect(await prune({ before: 3, keepLast: 2 })).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect(await prune({ keepLast: 3 })).toEqual([10, 11, 12]);
  expect(await prune({ before: 20, keepLast: 1 })).toEqual([12]);
  expect(await prune({ before: 20 })).toEqual([]);
  expect(await database.kysely.selectFrom('check_findings').select('check_id').execute()).toEqual([]);
});
