import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import Retail from '../../../environments/retail/environment.ts';
import { evaluationAcceptedSchema, evaluationDetailSchema } from '../../../src/contract/evaluation.ts';
import { trainingAcceptedSchema, trainingJobSchema } from '../../../src/contract/training.ts';
import { inMemory } from '../../../src/mcp/in-memory.ts';
import { createModels } from '../../../src/model/create-model.ts';
import { createImitationModels } from '../../../src/training/imitation/imitation-models.ts';
import { COUNTER, openParts, startService, type TestService, temporaryDirectory } from '../../run-service/service.ts';

const json = { 'content-type': 'application/json' };

async function start() {
  const parts = await openParts();
  const directory = temporaryDirectory();
  const service = await startService({
    parts,
    directory,
    models: createModels({ served: createImitationModels(parts.database) }),
    environments: new Map([
      ['counter', COUNTER],
      ['retail', inMemory(Retail)],
    ]),
  });
  return { service, directory };
}

async function post(service: TestService, path: string, body: object) {
  const reply = await service.request(path, { method: 'POST', headers: json, body: JSON.stringify(body) });
  expect(reply.status, reply.text).toBe(200);
  return reply.json;
}

async function evaluate(service: TestService, tasks: unknown, model: string) {
  const accepted = evaluationAcceptedSchema.parse(
    await post(service, '/v1/evaluations', { tasks, models: [model], attempts: 12, seed: 7 }),
  );
  const { json: ended } = await service.request(`/v1/evaluations/${accepted.evaluation_id}?wait=60`);
  return evaluationDetailSchema.parse(ended);
}

describe('probe', { timeout: 120_000 }, () => {
  it('runs', async () => {
    const { service, directory } = await start();
    const weak = await evaluate(service, 'counter', 'proctor/novice');
    const weakRetail = await evaluate(service, 'retail', 'proctor/novice');
    console.log(weak.reports[0]?.mean, weakRetail.reports[0]?.mean);
    const { mkdirSync, writeFileSync } = await import('node:fs');
    mkdirSync(join(directory, 'tasksets'));
    const tests = [
      ...[7, 42, 7919, 1_000_000].map((target) => ({
        id: `t${target}`,
        env: 'counter',
        scenario: 'count_to',
        args: { target },
        held_out: true,
      })),
      ...[12, 40].map((target) => ({
        id: `s${target}`,
        env: 'counter',
        scenario: 'slow_count',
        args: { target, delay_ms: target === 12 ? 0 : 1 },
        held_out: true,
      })),
      ...['5', '6'].map((id) => ({ id, env: 'retail', scenario: 'task', args: { task_id: id }, held_out: true })),
    ];
    writeFileSync(join(directory, 'tasksets', 'held.jsonl'), tests.map((t) => JSON.stringify(t)).join('\n'));
    const accepted = trainingAcceptedSchema.parse(
      await post(service, '/v1/training/jobs', {
        name: 'better',
        base: 'proctor/novice',
        provider: 'proctor/imitation',
        from: { evaluations: [weak.evaluation_id, weakRetail.evaluation_id] },
        select: { include_reference: true, splits: ['train'] },
        held_out: ['held'],
        evaluate: { attempts: 8, seed: 3 },
      }),
    );
    const { json: ended } = await service.request(`/v1/training/jobs/${accepted.job_id}?wait=60`);
    const job = trainingJobSchema.parse(ended);
    console.log(JSON.stringify({ ...job, proof: job.proof?.compare.comparisons }, null, 1));
    console.log(
      readFileSync(join(directory, '.proctor/training', job.job_id, 'dataset/train.jsonl'), 'utf8').slice(0, 3000),
    );
    const { json: events } = await service.request(`/v1/training/jobs/${accepted.job_id}/events`);
    void events;
    for (const row of (await service.request(`/v1/evaluations/${job.evaluations.model}/tasks`)).json.data)
      console.log(row.task_id, row.mean);
  });
});
void onTestFinished;
