import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { trainingJobDetailSchema, trainingJobListSchema } from '../../../src/contract/service/training.ts';
import { KEY, startFineTuningServer } from '../providers/fine-tuning-server.ts';
import { startTrainingService, type TrainingService } from './trained.ts';

const STEPS = 150;
/** A trainer that says more metrics than a job shows events. */
const SCRIPT = `
  for (let step = 1; step <= ${STEPS}; step++) console.log(JSON.stringify({ event: 'metrics', step, train_loss: 1 / step }));
  console.log(JSON.stringify({ event: 'model', name: 'local-1' }));`;

async function start(): Promise<TrainingService> {
  const server = await startFineTuningServer();
  return await startTrainingService({
    trainers: { lab: { kind: 'command', command: [process.execPath, '-e', SCRIPT], env: {}, deploy: 'none' } },
    gateways: [{ pattern: 'local-*', baseUrl: server.url, apiKey: KEY }],
  });
}

describe('GET /v1/training/jobs/{id}', { timeout: 60_000 }, () => {
  it('answers with the newest 100 events and with the metrics, each in order', async () => {
    const training = await start();
    const jobId = await training.begin();
    await training.reaches(jobId, 'succeeded');
    const { json } = await training.service.request(`/v1/training/jobs/${jobId}`);
    const { events, metrics } = trainingJobDetailSchema.parse(json);
    expect(metrics.map(({ step }) => step)).toEqual(Array.from({ length: STEPS }, (_, index) => index + 1));
    expect(metrics.at(-1)).toEqual({ step: STEPS, metrics: { train_loss: 1 / STEPS } });
    expect(events).toEqual((await training.events(jobId)).slice(-100));
    expect(events.at(-1)).toMatchObject({ type: 'status', status: 'succeeded' });
    const list = await training.service.request('/v1/training/jobs');
    expect(trainingJobListSchema.parse(list.json).data).toHaveLength(1);
    expect(Object(list.json).data[0]).not.toHaveProperty('events');
  });
});

describe('POST /v1/training/jobs', { timeout: 60_000 }, () => {
  it('names the field that has an unknown taskset, or tasks that cannot be played', async () => {
    const training = await start();
    const tasksets = join(training.directory, 'tasksets');
    mkdirSync(tasksets);
    const task = { id: 'a', env: 'counter', scenario: 'count_to', args: { target: 'many' } };
    writeFileSync(join(tasksets, 'wrong.jsonl'), JSON.stringify(task));
    const refused = async (change: object) => {
      const { json } = await training.service.request('/v1/training/jobs', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'better',
          base: 'proctor/noop',
          provider: 'proctor/imitation',
          from: { evaluations: [training.evaluationId] },
          ...change,
        }),
      });
      const { code, param } = errorBodySchema.parse(json).error;
      return [code, param];
    };
    expect(await refused({ held_out: ['exma'] })).toEqual(['taskset_not_found', 'held_out']);
    expect(await refused({ evaluate: { tasks: 'exma' } })).toEqual(['taskset_not_found', 'evaluate.tasks']);
    expect(await refused({ evaluate: { tasks: 'wrong' } })).toEqual(['invalid_scenario_args', 'evaluate.tasks']);
    expect(await refused({ held_out: ['wrong'], evaluate: {} })).toEqual(['invalid_scenario_args', 'held_out']);
    expect(await refused({ base: 'proctor/none' })).toEqual(['model_not_found', 'base']);
  });
});
