import { expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import type { EvaluationDetail } from '../../../src/contract/service/evaluation.ts';
import { type Regrade, regradeSchema } from '../../../src/contract/service/regrade.ts';
import type { TraceList } from '../../../src/contract/service/trace.ts';
import { beginReplays } from '../../../src/evaluation/replays/regrade/begin-replays.ts';
import { calls, json, says } from '../../gateway.ts';
import { errorOf } from '../../service/chat/server.ts';
import { until } from '../../until.ts';
import { type NotebookService, startNotebook } from './notebook.ts';

async function finished({ request }: Pick<NotebookService, 'request'>, jobId: string, query = ''): Promise<Regrade> {
  return await until(async () => {
    const job = regradeSchema.parse((await request(`/v1/regrades/${jobId}${query}`)).json);
    return job.status === 'completed' && job;
  });
}

async function regrade(service: NotebookService, path: string, query = ''): Promise<Regrade> {
  const reply = await service.post(`${path}/regrade`);
  expect(reply.status, reply.text).toBe(200);
  const { job_id, job_url } = reply.json as { job_id: string; job_url: string };
  expect(job_url).toBe(`https://app.example/regrades/${job_id}`);
  return await finished(service, job_id, query);
}

const NOTE_A = calls(['note', { text: 'a' }]);

it('a regraded trace keeps its reward, and has the new evaluation beside it', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const traceId = await service.write();
  service.code.reward = () => 0.25;
  const job = await regrade(service, `/v1/traces/${traceId}`);
  expect(job).toMatchObject({
    trace_id: traceId,
    evaluation_id: null,
    progress: { total: 1, done: 1, same: 0, changed: 1, differs: 0, failed: 0 },
    models: [{ model: 'writer', graded: 1, changed: 1, mean_before: 1, mean_after: 0.25 }],
    rows: [{ trace_id: traceId, outcome: 'changed', before: 1, after: 0.25, difference: null, error: null }],
  });
  const trace = await service.ended(traceId);
  expect(trace).toMatchObject({
    reward: 1,
    evaluation: { reward: 1 },
    grades: [{ evaluation: { reward: 0.25 }, environment_hash: trace.versions.environment_hash, current: true }],
  });
  const replay = await service.ended(job.rows[0]?.replay_trace_id ?? '');
  expect(replay).toMatchObject({ origin: 'replay', parent: { trace_id: traceId, kind: 'replay' } });
});

it('of several grades the newest is current, and lists tell rewards by it where they are asked to', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const traceId = await service.write();
  service.code.reward = () => 0.25;
  await regrade(service, `/v1/traces/${traceId}`);
  service.code.reward = () => 0.75;
  await regrade(service, `/v1/traces/${traceId}`);
  const { grades } = await service.ended(traceId);
  expect(grades.map(({ evaluation, current }) => [evaluation.reward, current])).toEqual([
    [0.25, false],
    [0.75, true],
  ]);
  const list = async (query: string) => {
    const { data } = (await service.request(`/v1/traces?origin=run&${query}`)).json as TraceList;
    return data.map(({ reward, grades: { length } }) => [reward, length]);
  };
  expect(await list('')).toEqual([[1, 2]]);
  expect(await list('grades=current')).toEqual([[0.75, 2]]);
  expect(await list('grades=current&sort=reward&min_reward=0.5&max_reward=0.8')).toEqual([[0.75, 2]]);
  expect(await list('grades=current&min_reward=0.8')).toEqual([]);
  expect(await list('min_reward=0.8')).toEqual([[1, 2]]);
  const summary = async (query: string) => (await service.request(`/v1/traces/summary?origin=run&${query}`)).json;
  expect(await summary('')).toMatchObject({ mean_reward: 1, pass_rate: 1 });
  expect(await summary('grades=current')).toMatchObject({ mean_reward: 0.75, pass_rate: 0 });
  expect(await summary('grades=current&max_reward=0.8')).toMatchObject({ count: 1 });
  const children = (await service.request(`/v1/traces?parent=${traceId}`)).json as TraceList;
  expect(children.data.map(({ origin }) => origin)).toEqual(['replay', 'replay']);
});

it('a replay that differs gives no grade, and one that cannot be evaluated fails', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const traceId = await service.write();
  service.code.noted = () => 'written';
  const [row] = (await regrade(service, `/v1/traces/${traceId}`)).rows;
  expect(row).toMatchObject({ outcome: 'differs', after: null, difference: { at: 'step', step: 1, call: 1 } });
  service.code.noted = (text, count) => `${count}: ${text}`;
  service.code.evaluateFault = 'no red pen';
  const [failed] = (await regrade(service, `/v1/traces/${traceId}`)).rows;
  expect(failed).toMatchObject({ outcome: 'failed', error: { boundary: 'evaluate' } });
  expect(await service.ended(traceId)).toMatchObject({ grades: [] });
});

it('a run that failed of its evaluator gets the reward of today, and one that failed otherwise none', async () => {
  const service = await startNotebook([NOTE_A, says('a'), NOTE_A, json(400, { error: { message: 'No.' } })]);
  service.code.evaluateFault = 'no red pen';
  const ungraded = await service.write();
  service.code.evaluateFault = undefined;
  const failed = await service.write();
  expect((await regrade(service, `/v1/traces/${ungraded}`)).rows).toMatchObject([
    { outcome: 'changed', before: null, after: 1 },
  ]);
  expect((await regrade(service, `/v1/traces/${failed}`)).rows).toMatchObject([
    { outcome: 'same', before: null, after: null },
  ]);
  const current = (await service.request('/v1/traces?origin=run&grades=current')).json as TraceList;
  expect(current.data.map(({ reward }) => reward)).toEqual([null, 1]);
});

it('an evaluation is regraded row by row, and reports by both grades', async () => {
  const service = await startNotebook([]);
  service.code.reward = (notes) => (notes.length > 0 ? 1 : 0);
  const tasks = ['a', 'a b', 'c'].map((words, index) => ({
    ...{ id: `task-${index}`, env: 'notebook', scenario: 'write', args: { words } },
  }));
  const body = { tasks, models: ['proctor/oracle', 'proctor/noop'] };
  const { evaluation_id: id } = (await service.post('/v1/evaluations', body)).json as { evaluation_id: string };
  const get = async (query: string) =>
    (await service.request(`/v1/evaluations/${id}${query}`)).json as EvaluationDetail;
  const means = async (query = '') => (await get(query)).reports.map(({ model, mean }) => [model, mean]);
  await get('?wait=60');
  const before = await means();
  service.code.reward = (notes) => (notes.length === 2 ? 0.5 : 1);
  const job = await regrade(service, `/v1/evaluations/${id}`, '?outcome=changed');
  expect(job).toMatchObject({
    evaluation_id: id,
    trace_id: null,
    progress: { total: 6, done: 6, same: 2, changed: 4, differs: 0, failed: 0 },
  });
  expect(job.rows.map(({ task_id, model, before: old, after }) => [task_id, model, old, after])).toEqual([
    ['task-0', 'proctor/noop', 0, 1],
    ['task-1', 'proctor/oracle', 1, 0.5],
    ['task-1', 'proctor/noop', 0, 1],
    ['task-2', 'proctor/noop', 0, 1],
  ]);
  expect(await means()).toEqual(before);
  expect(await means('?grades=current')).toEqual([
    ['proctor/oracle', 2.5 / 3],
    ['proctor/noop', 1],
  ]);
  const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
  const attempts = await client.evaluations.attempts(id, { grades: 'current', model: 'proctor/oracle' });
  expect(attempts.data.map(({ reward }) => reward)).toEqual([1, 0.5, 1]);
  const rows = await client.evaluations.tasks(id, { grades: 'current', model: 'proctor/oracle' });
  expect(rows.data.map(({ mean }) => mean)).toEqual([1, 0.5, 1]);
  const compared = async (grades?: 'current') => {
    const models = { a_model: 'proctor/oracle', b_model: 'proctor/noop' };
    const { comparisons } = await client.evaluations.compare({ a: id, b: id, ...models, ...(grades && { grades }) });
    return comparisons.map(({ difference, won, lost }) => [difference, won, lost]);
  };
  expect(await compared()).toEqual([[-1, [], ['task-0', 'task-1', 'task-2']]]);
  expect(await compared('current')).toEqual([[expect.closeTo(0.5 / 3), ['task-1'], []]]);
  expect((await client.regrades.list(id)).data).toMatchObject([{ job_id: job.job_id, status: 'completed' }]);
  expect((await client.evaluations.get(id, { grades: 'current' })).reports[1]?.mean).toBe(1);
});

it('the means of a job count each task once, as those of reports do', async () => {
  const service = await startNotebook([]);
  service.code.reward = (notes) => (notes[0] === 'a' ? 1 : 0);
  const tasks = ['a', 'b'].map((words) => ({ id: words, env: 'notebook', scenario: 'write', args: { words } }));
  const body = { tasks, models: ['proctor/oracle'], attempts: 2 };
  const { evaluation_id: id } = (await service.post('/v1/evaluations', body)).json as { evaluation_id: string };
  await service.request(`/v1/evaluations/${id}?wait=60`);
  const { job_id: jobId } = await regrade(service, `/v1/evaluations/${id}`);
  await service.database.kysely
    .updateTable('regrade_rows')
    .set({ outcome: 'failed', reward_after: null })
    .where('task_id', '=', 'b')
    .where('attempt_index', '=', 2)
    .execute();
  expect((await finished(service, jobId)).models).toMatchObject([{ graded: 3, mean_before: 0.5, mean_after: 0.5 }]);
});

it('rows come page by page', async () => {
  const service = await startNotebook([]);
  const tasks = ['a', 'b', 'c'].map((words) => ({ id: words, env: 'notebook', scenario: 'write', args: { words } }));
  const created = await service.post('/v1/evaluations', { tasks, models: ['proctor/oracle'] });
  const { evaluation_id: id } = created.json as { evaluation_id: string };
  await service.request(`/v1/evaluations/${id}?wait=60`);
  const first = await regrade(service, `/v1/evaluations/${id}`, '?limit=2');
  expect(first.rows.map(({ task_id }) => task_id)).toEqual(['a', 'b']);
  const rest = await finished(service, first.job_id, `?limit=2&cursor=${first.next_cursor}`);
  expect(rest).toMatchObject({ rows: [{ task_id: 'c', outcome: 'same' }], next_cursor: null });
});

it('what runs, is not there, or belongs to another account is refused', async () => {
  const service = await startNotebook([() => new Promise(() => {})]);
  const body = { env_name: 'notebook', scenario_name: 'write', model: 'writer' };
  const { trace_id } = (await service.post('/v1/agent/run', body)).json as { trace_id: string };
  expect(errorOf(await service.post(`/v1/traces/${trace_id}/regrade`))).toEqual([409, 'run_running', null]);
  expect(errorOf(await service.post('/v1/traces/x/regrade'))).toEqual([404, 'trace_not_found', null]);
  expect(errorOf(await service.post('/v1/evaluations/x/regrade'))).toEqual([404, 'evaluation_not_found', null]);
  expect(errorOf(await service.request('/v1/regrades/x'))).toEqual([404, 'regrade_not_found', null]);
  const tasks = [{ id: 'a', env: 'notebook', scenario: 'write', args: {} }];
  const created = await service.post('/v1/evaluations', { tasks, models: ['writer'] });
  const { evaluation_id: id } = created.json as { evaluation_id: string };
  expect(errorOf(await service.post(`/v1/evaluations/${id}/regrade`))).toEqual([409, 'run_running', null]);
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  const headers = { authorization: `Bearer ${key}` };
  const { json: own } = await service.post('/v1/traces/x/regrade', {}, headers);
  expect(own).toMatchObject({ error: { code: 'trace_not_found' } });
  expect(errorOf(await service.post(`/v1/evaluations/${id}/regrade`, {}, headers))).toEqual([
    ...[404, 'evaluation_not_found', null],
  ]);
});

it('a trace that is deleted while its job waits fails its row alone', async () => {
  const service = await startNotebook([NOTE_A, says('a'), NOTE_A, says('a')]);
  const [gone, kept] = [await service.write(), await service.write()];
  await service.close();
  const idle = await startNotebook([], { parts: service, worker: false, code: service.code });
  const jobs: string[] = [];
  for (const traceId of [gone, kept]) {
    const { job_id } = (await idle.post(`/v1/traces/${traceId}/regrade`)).json as { job_id: string };
    jobs.push(job_id);
  }
  await idle.store.remove(gone);
  const working = await startNotebook([], { parts: service, code: service.code });
  const [first, second] = await Promise.all(jobs.map((jobId) => finished(working, jobId)));
  expect(first?.rows).toMatchObject([{ outcome: 'failed', error: { code: 'trace_not_found' } }]);
  expect(second?.rows).toMatchObject([{ outcome: 'same' }]);
});

it('a job that is cancelled begins no more replays, ends those that wait, and keeps the grades that it gave', async () => {
  const service = await startNotebook([NOTE_A, says('a')]);
  const traceId = await service.write();
  await service.close();
  const idle = await startNotebook([], { parts: service, worker: false, code: service.code });
  const { job_id: jobId } = (await idle.post(`/v1/traces/${traceId}/regrade`)).json as { job_id: string };
  const { queue, database, store } = idle;
  // What a driver does at first: the replay is queued, and nobody takes it.
  await beginReplays({ queue, database, store, now: Date.now }, jobId);
  const { key } = await idle.accounts.createKey({ name: 'other', account: 'other' });
  const others = await idle.post(`/v1/regrades/${jobId}/cancel`, {}, { authorization: `Bearer ${key}` });
  expect(errorOf(others)).toEqual([404, 'regrade_not_found', null]);
  const cancelled = await idle.post(`/v1/regrades/${jobId}/cancel`);
  expect(cancelled.json).toMatchObject({
    status: 'cancelled',
    progress: { total: 1, done: 0 },
    rows: [{ outcome: null }],
  });
  const [row] = (cancelled.json as Regrade).rows;
  expect(await idle.ended(row?.replay_trace_id ?? '')).toMatchObject({ status: 'cancelled' });
  expect(errorOf(await idle.post(`/v1/regrades/${jobId}/cancel`))).toEqual([409, 'run_finished', null]);
  const working = await startNotebook([], { parts: service, code: service.code });
  expect((await regrade(working, `/v1/traces/${traceId}`)).progress).toMatchObject({ same: 1 });
  expect((await working.ended(traceId)).grades).toHaveLength(1);
});

it('two processes that drive one job grade each trace once', { timeout: 120_000 }, async () => {
  const service = await startNotebook([]);
  const tasks = Array.from({ length: 30 }, (_, index) => ({
    ...{ id: `t${index}`, env: 'notebook', scenario: 'write', args: { words: `w${index}` } },
  }));
  const created = await service.post('/v1/evaluations', { tasks, models: ['proctor/oracle'] });
  const { evaluation_id: id } = created.json as { evaluation_id: string };
  await service.request(`/v1/evaluations/${id}?wait=60`);
  await startNotebook([], { parts: service, code: service.code });
  const job = await regrade(service, `/v1/evaluations/${id}`);
  expect(job.progress).toMatchObject({ total: 30, same: 30 });
  const { data } = (await service.request('/v1/traces?origin=replay&limit=100')).json as TraceList;
  expect(data).toHaveLength(30);
  const grades = await service.database.kysely.selectFrom('grades').selectAll().execute();
  expect(grades).toHaveLength(30);
});
