import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import {
  attemptListSchema,
  comparisonListSchema,
  evaluationAcceptedSchema,
  evaluationDetailSchema,
  evaluationListSchema,
  taskListSchema,
} from '../../../src/contract/service/evaluation.ts';
import { traceListSchema, traceSchema } from '../../../src/contract/service/trace.ts';
import { seedOf } from '../../../src/evaluation/evaluations/attempt-order.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { COUNTER, startService, type TestService, TROUBLE, traceIdOf } from './service.ts';

const TASKS = [2, 3, 4].map((target) => ({
  id: `count-${target}`,
  env: 'counter',
  scenario: 'count_to',
  args: { target },
}));
/** An attempt that does not end by itself within a test. */
const SLOW_TASKS = ['a', 'b', 'c'].map((id) => ({
  id,
  env: 'counter',
  scenario: 'slow_count',
  args: { target: 1, delay_ms: 60_000 },
}));

const EVALUATION = { tasks: TASKS, models: ['proctor/oracle'] };

async function post(
  service: TestService,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return await service.request('/v1/evaluations', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function create(service: TestService, body: object = {}): Promise<string> {
  const reply = await post(service, { ...EVALUATION, ...body });
  expect(reply.status, reply.text).toBe(200);
  return evaluationAcceptedSchema.parse(reply.json).evaluation_id;
}

function errorOf(reply: Reply) {
  return errorBodySchema.parse(reply.json).error;
}

async function ended(service: TestService, id: string) {
  return evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}?wait=120`)).json);
}

describe('an evaluation over HTTP', () => {
  it('runs every task with every model as often as was asked, with one seed for all models', async () => {
    const service = await startService();
    const id = await create(service, {
      name: 'first',
      models: ['proctor/oracle', 'proctor/noop'],
      attempts: 2,
      seed: 7,
      metadata: { branch: 'main' },
    });
    expect(id).toMatch(/^eval_[0-9a-f]{32}$/);
    const evaluation = await ended(service, id);
    expect(evaluation).toMatchObject({
      evaluation_url: `https://app.example/evaluations/${id}`,
      name: 'first',
      status: 'completed',
      taskset: { name: null, tasks: 3 },
      models: ['proctor/oracle', 'proctor/noop'],
      progress: { done: 12, total: 12, running: 0, reruns: 0, outcomes: { graded: 12 }, spent: { usd: 0, tokens: 0 } },
      reports: [
        { model: 'proctor/oracle', coverage: 1, mean: 1 },
        { model: 'proctor/noop', coverage: 1, mean: 0 },
      ],
    });
    const { data } = attemptListSchema.parse((await service.request(`/v1/evaluations/${id}/attempts`)).json);
    expect(data).toHaveLength(12);
    for (const { task_id, attempt_index, seed } of data) expect(seed).toBe(seedOf(7, task_id, attempt_index));
    const trace = traceSchema.parse((await service.request(`/v1/traces/${data[1]?.trace_id}`)).json);
    expect(trace).toMatchObject({
      origin: 'eval',
      evaluation_id: id,
      task_id: 'count-2',
      attempt_index: 2,
      rerun: 0,
      superseded: false,
      outcome: 'graded',
      seed: data[1]?.seed,
      metadata: { branch: 'main' },
    });
    const tasks = taskListSchema.parse((await service.request(`/v1/evaluations/${id}/tasks?model=proctor/noop`)).json);
    expect(tasks.data.map(({ task_id, attempts, mean }) => [task_id, attempts, mean])).toEqual([
      ['count-2', 2, 0],
      ['count-3', 2, 0],
      ['count-4', 2, 0],
    ]);
  });

  it('is in the lists of traces by evaluation, task, origin and outcome', async () => {
    const service = await startService();
    const id = await create(service);
    await ended(service, id);
    await service.ended(traceIdOf(await service.run()));
    const count = async (query: string) =>
      traceListSchema.parse((await service.request(`/v1/traces?${query}`)).json).data.length;
    expect(await count('')).toBe(4);
    expect(await count(`evaluation_id=${id}`)).toBe(3);
    expect(await count(`evaluation_id=${id}&task_id=count-3`)).toBe(1);
    expect(await count(`evaluation_id=${id}&attempt_index=1`)).toBe(3);
    expect(await count(`evaluation_id=${id}&attempt_index=2`)).toBe(0);
    expect(await count('origin=eval')).toBe(3);
    expect(await count('outcome=graded')).toBe(4);
    expect(await count('outcome=limit')).toBe(0);
    const summary = (await service.request(`/v1/traces/summary?evaluation_id=${id}`)).json;
    expect(summary).toMatchObject({ count: 3, mean_reward: 1 });
    const second = (await service.request(`/v1/traces/summary?evaluation_id=${id}&attempt_index=2`)).json;
    expect(second).toMatchObject({ count: 0 });
    expect(errorOf(await service.request('/v1/traces?attempt_index=0'))).toMatchObject({ param: 'attempt_index' });
    expect(errorOf(await service.request('/v1/traces?outcome=good'))).toMatchObject({ param: 'outcome' });
  });

  it.each([
    ['a task without environment', { tasks: [{ id: 'a', scenario: 'count_to' }] }, 'tasks[0].env'],
    ['an unknown scenario', { tasks: [{ ...TASKS[0], scenario: 'none' }] }, 'tasks[0].scenario'],
    [
      'arguments that do not fit',
      { tasks: [TASKS[0], { ...TASKS[1], args: { target: 'x' } }] },
      'tasks[1].args.target',
    ],
    ['two tasks of one id', { tasks: [TASKS[0], TASKS[0]] }, 'tasks[1].id'],
    ['no tasks', { tasks: [] }, 'tasks'],
    ['no models', { models: [] }, 'models'],
    ['a model twice', { models: ['proctor/noop', 'proctor/noop'] }, 'models'],
    ['an unknown model', { models: ['proctor/oracle', 'proctor/none'] }, 'models.1'],
    ['too many attempts', { attempts: 1_001 }, 'attempts'],
    ['a budget of nothing', { budget: { usd: 0 } }, 'budget.usd'],
    ['too much at once', { concurrency: 10_001 }, 'concurrency'],
    ['a parent that is not there', { parent: `eval_${'0'.repeat(32)}` }, 'parent'],
    ['a taskset that is not there', { tasks: 'none' }, 'tasks'],
    ['an agent, since it has none', { agent: 'codex' }, 'agent'],
    ['half of a surrogate pair in its name', { name: 'a\ud800' }, 'name'],
    ['a zero character in its name', { name: 'a\0' }, 'name'],
    ['half of a surrogate pair in a model', { models: ['proctor/oracle', 'm\ud800'] }, 'models.1'],
    ['half of a surrogate pair in its sampling', { sampling: { stop: ['\ud800'] } }, 'sampling'],
    ['a zero character in a cluster', { tasks: [{ ...TASKS[0], cluster: 'a\0' }] }, 'tasks[0].cluster'],
  ])('is refused for %s, and nothing is written', async (_what, body, param) => {
    const service = await startService();
    const reply = await post(service, { ...EVALUATION, ...body });
    expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(500);
    expect(errorOf(reply)).toMatchObject({ param });
    expect((await service.request('/v1/evaluations')).json).toMatchObject({ data: [] });
  });

  it('takes an explicit null for what may be absent, in its budget too', async () => {
    const service = await startService();
    const id = await create(service, { agent: null, attempts: null, budget: { usd: null, tokens: 5_000 } });
    expect(await ended(service, id)).toMatchObject({ attempts: 1, budget: { tokens: 5_000 } });
  });

  it('says the range of what is out of it', async () => {
    const service = await startService();
    const messageOf = async (body: object) => errorOf(await post(service, { ...EVALUATION, ...body })).message;
    expect(await messageOf({ budget: { usd: -1 } })).toContain('budget.usd has to be a number above 0, got -1');
    const models = Array.from({ length: 101 }, (_, index) => `m${index}`);
    expect(await messageOf({ models })).toContain('models has to be an array of 0 to 100 items');
  });

  it('is made once by the same Idempotency-Key, and goes on with resume', async () => {
    const service = await startService();
    const key = { 'idempotency-key': 'abc' };
    const first = evaluationAcceptedSchema.parse((await post(service, EVALUATION, key)).json);
    expect((await post(service, EVALUATION, key)).json).toEqual(first);
    expect(errorOf(await post(service, { ...EVALUATION, attempts: 2 }, key)).code).toBe('idempotency_conflict');
    const resumed = await post(service, { ...EVALUATION, attempts: 2, resume: true });
    expect(resumed.json).toMatchObject({ evaluation_id: first.evaluation_id });
    expect(await ended(service, first.evaluation_id)).toMatchObject({ attempts: 2, concurrency: 32 });
    expect(await create(service)).not.toBe(first.evaluation_id);
  });

  it('takes a body of more than 4 MiB, as gzip too, and no more than 64 MiB of it', async () => {
    const service = await startService();
    const tasks = Array.from({ length: 3_000 }, (_, index) => ({
      ...TASKS[0],
      id: `${'x'.repeat(190)}${index}`,
      tags: ['y'.repeat(1_500)],
    }));
    const json = JSON.stringify({ ...EVALUATION, tasks, concurrency: 1 });
    expect(json.length).toBeGreaterThan(5 * 1_024 * 1_024);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const sent = { method: 'POST', headers, body: gzipSync(json) };
    const reply = await service.request('/v1/evaluations', sent);
    expect(reply.status, reply.text).toBe(200);
    const bomb = { ...sent, body: gzipSync(Buffer.alloc(65 * 1_024 * 1_024, 0x20)) };
    expect((await service.request('/v1/evaluations', bomb)).status).toBe(413);
    const broken = { ...sent, body: 'not gzip' };
    expect(errorOf(await service.request('/v1/evaluations', broken)).code).toBe('invalid_json');
    expect((await service.request('/v1/agent/run', sent)).status).toBe(415);
  });

  it('is not found by another account', async () => {
    const service = await startService();
    const id = await create(service);
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const headers = { authorization: `Bearer ${key}` };
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/attempts'],
      ['GET', '/tasks'],
      ['POST', '/pause'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      const reply = await service.request(`/v1/evaluations/${id}${path}`, { method, headers });
      expect([path, reply.status, errorOf(reply).code]).toEqual([path, 404, 'evaluation_not_found']);
    }
    const list = evaluationListSchema.parse((await service.request('/v1/evaluations', { headers })).json);
    expect(list.data).toEqual([]);
    const compare = await service.request(`/v1/evaluations/compare?a=${id}&b=${id}`, { headers });
    expect(errorOf(compare)).toMatchObject({ code: 'evaluation_not_found', param: 'a' });
  });

  it.each(['eval_1', 'none', '%00', `eval_${'0'.repeat(32)}`])('has no %s', async (id) => {
    const service = await startService();
    const reply = await service.request(`/v1/evaluations/${id}`);
    expect([reply.status, errorOf(reply).code]).toEqual([404, 'evaluation_not_found']);
  });

  it('is played by the typed client from its creation to its deletion', async () => {
    const service = await startService();
    const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
    const { evaluation_id: id } = await client.evaluations.create({ ...EVALUATION, tasks: SLOW_TASKS, concurrency: 2 });
    await expect.poll(async () => (await client.evaluations.get(id)).progress.running, { timeout: 30_000 }).toBe(2);
    expect((await client.evaluations.pause(id)).status).toBe('paused');
    expect((await client.evaluations.resume(id)).status).toBe('running');
    expect(await client.evaluations.update(id, { concurrency: 3 })).toMatchObject({ concurrency: 3 });
    expect((await client.evaluations.cancel(id)).status).toBe('cancelled');
    await expect(client.evaluations.pause(id)).rejects.toMatchObject({ code: 'evaluation_finished', status: 409 });
    await expect(client.evaluations.rerun(id, ['graded'])).rejects.toMatchObject({ param: 'outcomes', status: 400 });
    const attempts = [];
    for await (const attempt of client.evaluations.allAttempts(id, { limit: 2 })) attempts.push(attempt.task_id);
    expect(attempts).toEqual(['a', 'b', 'c']);
    const evaluations = [];
    for await (const evaluation of client.evaluations.all()) evaluations.push(evaluation.evaluation_id);
    expect(evaluations).toEqual([id]);
    await client.evaluations.delete(id);
    await expect(client.evaluations.get(id)).rejects.toMatchObject({ code: 'evaluation_not_found' });
    expect(await service.countRuns()).toBe(0);
  });

  it('is compared with another one', async () => {
    const service = await startService();
    const [a, b] = [await create(service, { models: ['proctor/noop'] }), await create(service)];
    await Promise.all([ended(service, a), ended(service, b)]);
    const reply = await service.request(`/v1/evaluations/compare?a=${a}&b=${b}`);
    expect(reply.status, reply.text).toBe(200);
    expect(comparisonListSchema.parse(reply.json).comparisons).toMatchObject([{ difference: 1, won_count: 3 }]);
  });

  it('counts its attempts as runs of the key that made it', async () => {
    const service = await startService();
    const id = await create(service, { tasks: SLOW_TASKS });
    const rows = async () =>
      await service.database.kysely.selectFrom('traces').select('key_id').where('evaluation_id', '=', id).execute();
    await expect.poll(async () => (await rows()).length).toBe(3);
    const keys = await service.database.kysely.selectFrom('api_keys').select('id').execute();
    expect(new Set((await rows()).map(({ key_id }) => key_id))).toEqual(new Set([keys[0]?.id]));
  });

  it('suspects the agent where the environment died during a tool call in every rerun', async () => {
    const environments = new Map([['trouble', TROUBLE]]);
    const service = await startService({ environments });
    const tasks = ['exits_in_a_tool', 'exits_in_setup'].map((scenario) => ({ id: scenario, env: 'trouble', scenario }));
    const id = await create(service, { tasks });
    const detail = async () => evaluationDetailSchema.parse((await service.request(`/v1/evaluations/${id}`)).json);
    const open = async () => {
      const { running, queued } = (await detail()).progress;
      return running + (queued ?? 0);
    };
    // Asked for, a rerun does not wait for its time.
    for (let reruns = 2; reruns <= 6; reruns += 2) {
      await expect.poll(open, { timeout: 60_000 }).toBe(0);
      await service.request(`/v1/evaluations/${id}/rerun`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ outcomes: ['infra_error'] }),
      });
      await expect.poll(async () => (await detail()).progress.reruns, { timeout: 60_000 }).toBe(reruns);
    }
    await expect.poll(open, { timeout: 60_000 }).toBe(0);
    await service.database.kysely
      .updateTable('evaluation_attempts')
      .set({ state: 'done', due_at: null })
      .where('evaluation_id', '=', id)
      .execute();
    expect(await ended(service, id)).toMatchObject({
      progress: { outcomes: { infra_error: 2 } },
      suspects: [{ task_id: 'exits_in_a_tool', model: 'proctor/oracle', attempt_index: 1, suspect: 'agent' }],
    });
  }, 120_000);

  it('names the environments whose code changed between attempts, not those that are merely several', async () => {
    const environments = new Map([
      ['counter', COUNTER],
      ['other', COUNTER],
    ]);
    const service = await startService({ environments });
    const id = await create(service, {
      tasks: [TASKS[0], { ...TASKS[0], id: 'other', env: 'other' }],
      attempts: 2,
    });
    const changedWith = async (...hashes: readonly string[]) => {
      await ended(service, id);
      const rows = service.database.kysely;
      for (const [index, environment_hash] of hashes.entries()) {
        await rows
          .updateTable('evaluation_attempts')
          .set({ environment_hash })
          .where('evaluation_id', '=', id)
          .where('task_index', '=', index >> 1)
          .where('attempt_index', '=', (index & 1) + 1)
          .execute();
      }
      await rows.updateTable('evaluations').set({ report: null }).where('evaluation_id', '=', id).execute();
      return (await ended(service, id)).changed_environments;
    };
    expect(await changedWith('a', 'a', 'b', 'b')).toEqual([]);
    expect(await changedWith('a', 'c', 'b', 'b')).toEqual(['counter']);
  }, 60_000);

  it('is deleted while it runs', async () => {
    const service = await startService();
    const id = await create(service, { tasks: SLOW_TASKS });
    await expect.poll(async () => await service.countRuns()).toBe(3);
    const reply = await service.request(`/v1/evaluations/${id}`, { method: 'DELETE' });
    expect(reply.status).toBe(204);
    expect(await service.countRuns()).toBe(0);
    expect(await service.queue.counts()).toEqual({ waiting: 0, leased: 0 });
  });
});
