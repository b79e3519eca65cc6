import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import Retail from '../../../environments/retail/environment.ts';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/service/evaluation.ts';
import { trainingAcceptedSchema, trainingJobSchema } from '../../../src/contract/service/training.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { COUNTER, openParts, startService, type TestService, temporaryDirectory } from '../../service/runs/service.ts';

const headers = { 'content-type': 'application/json' };
const counter = (scenario: string, id: string, args: object) => ({
  id,
  env: 'counter',
  scenario,
  args,
  held_out: true,
});

/** Tasks that nothing is trained on, of both environments. */
const HELD_OUT = [
  counter('count_to', 'seven', { target: 7 }),
  counter('count_to', 'forty-two', { target: 42 }),
  counter('count_to', 'large-prime', { target: 7_919 }),
  counter('count_to', 'million', { target: 1_000_000 }),
  counter('slow_count', 'slow-twelve', { target: 12, delay_ms: 0 }),
  { id: '5', env: 'retail', scenario: 'task', args: { task_id: '5' }, held_out: true },
  { id: '6', env: 'retail', scenario: 'task', args: { task_id: '6' }, held_out: true },
];

async function start() {
  const parts = await openParts();
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'tasksets'));
  writeFileSync(join(directory, 'tasksets', 'exam.jsonl'), HELD_OUT.map((task) => JSON.stringify(task)).join('\n'));
  return await startService({
    ...{ parts, directory },
    environments: new Map<string, EnvironmentTarget>([
      ['counter', COUNTER],
      ['retail', inMemory(() => new Retail())],
    ]),
  });
}

async function post(service: TestService, path: string, body: object) {
  return await service.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function evaluate(service: TestService, tasks: string): Promise<string> {
  const { json } = await post(service, '/v1/evaluations', { tasks, models: ['proctor/novice'], attempts: 12, seed: 7 });
  const { evaluation_id } = evaluationAcceptedSchema.parse(json);
  const ended = await service.request(`/v1/evaluations/${evaluation_id}?wait=60`);
  expect(evaluationDetailSchema.parse(ended.json).status).toBe('completed');
  return evaluation_id;
}

async function train(service: TestService, evaluations: readonly string[], select: object = {}) {
  const reply = await post(service, '/v1/training/jobs', {
    ...{ name: 'better', base: 'proctor/novice', provider: 'proctor/imitation', held_out: ['exam'] },
    ...{ from: { evaluations }, select: { include_reference: true, ...select }, evaluate: { attempts: 8, seed: 3 } },
  });
  expect(reply.status, reply.text).toBe(200);
  const { job_id } = trainingAcceptedSchema.parse(reply.json);
  return trainingJobSchema.parse((await service.request(`/v1/training/jobs/${job_id}?wait=80`)).json);
}

describe('proctor/imitation', { timeout: 120_000 }, () => {
  it('learns from the successes of a weak base, and is better on tasks that it has not seen, with an interval above 0', async () => {
    const service = await start();
    const evaluations = [await evaluate(service, 'counter:train'), await evaluate(service, 'retail/task:train')];
    const job = await train(service, evaluations);
    expect(job).toMatchObject({ status: 'succeeded', error: null, proof_error: null });
    const [comparison] = job.proof?.compare.comparisons ?? [];
    expect(comparison).toMatchObject({ a_model: 'proctor/novice', b_model: 'better', n_tasks: HELD_OUT.length });
    expect(comparison?.difference).toBeGreaterThan(0.2);
    expect(comparison?.ci95?.[0]).toBeGreaterThan(0);
    // The model is one like any other now.
    const run = await service.run({ model: 'better', scenario_args: { target: 55 } });
    expect(await service.ended(String(Object(run.json).trace_id))).toMatchObject({ model: 'better', reward: 1 });
  });

  it('gains nothing where it learned from failures', async () => {
    const service = await start();
    const job = await train(service, [await evaluate(service, 'counter:train')], {
      min_reward: 0,
      choose: 'shortest',
      max_per_task: 1,
    });
    const [comparison] = job.proof?.compare.comparisons ?? [];
    expect(comparison?.difference).toBeLessThanOrEqual(0);
  });

  it('fails with nothing to learn from, and says why nothing was left', async () => {
    const service = await start();
    const job = await train(service, [await evaluate(service, 'counter:train')], { min_reward: 2 });
    expect(job.status).toBe('failed');
    expect(job.error).toMatchObject({ code: 'dataset_empty', status: 'validating' });
    expect(job.error?.message).toContain('low reward');
    expect((await service.request('/v1/models/registered/better')).status).toBe(404);
  });

  it('is not trained on tasks that are held out, whatever their ids are', async () => {
    const service = await start();
    const evaluations = [await evaluate(service, 'counter:test')];
    const reply = await post(service, '/v1/training/jobs', {
      ...{ name: 'cheat', base: 'proctor/novice', provider: 'proctor/imitation', held_out: ['exam'] },
      ...{ from: { evaluations }, select: { include_reference: true } },
    });
    expect(reply.status).toBe(400);
    expect(errorBodySchema.parse(reply.json).error).toMatchObject({ code: 'held_out_task' });
  });
});
