import { pino } from 'pino';
import { createServiceClient } from 'proctor/client';
import {
  createAccounts,
  createDatabaseQueue,
  createModels,
  createTraceStore,
  openDatabase,
  startRunService,
  startWorker,
} from 'proctor/run-service';
import { describe, expect, it, onTestFinished } from 'vitest';
import { APP_URL, COUNTER, temporaryDirectory } from '../../service/runs/service.ts';

const logger = pino({ level: 'silent' });

/** The parts that a program of one's own hands to the service, all of them from the public entry. */
async function openEmbedded() {
  const directory = temporaryDirectory();
  const database = await openDatabase(`sqlite:${directory}/proctor.db`);
  onTestFinished(() => database.close());
  const accounts = createAccounts(database);
  const { key } = await accounts.createKey({ name: 'program' });
  const queue = createDatabaseQueue(database);
  const store = createTraceStore(database, { appUrl: APP_URL });
  const parts = { database, accounts, queue, store, models: createModels({}), logger, directory };
  return { key, parts: { ...parts, environments: new Map([['counter', COUNTER]]) } };
}

async function startEmbedded(change: { readonly worker?: false } = {}) {
  const { key, parts } = await openEmbedded();
  const service = await startRunService({ ...parts, host: '127.0.0.1', port: 0, appUrl: APP_URL, ...change });
  onTestFinished(() => service.close());
  return { parts, client: createServiceClient({ baseUrl: service.url, apiKey: key }) };
}

/** Trains on two runs of the oracle. */
async function train({ evaluations, training }: ReturnType<typeof createServiceClient>) {
  const tasks = [2, 3].map((target) => ({ id: `t${target}`, env: 'counter', scenario: 'count_to', args: { target } }));
  const { evaluation_id } = await evaluations.create({ tasks, models: ['proctor/oracle'] });
  await evaluations.get(evaluation_id, { waitSeconds: 30 });
  const { job_id } = await training.create({
    name: 'learned',
    base: 'proctor/noop',
    provider: 'proctor/imitation',
    from: { evaluations: [evaluation_id] },
    select: { include_reference: true, validation: 0 },
  });
  return await training.get(job_id, { waitSeconds: 30 });
}

const RUN = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 9 }, model: 'learned' };

describe('a program that embeds the run service by its public entry', { timeout: 90_000 }, () => {
  it('trains with proctor/imitation to the end, and plays the model', async () => {
    const { client } = await startEmbedded();
    expect(await train(client)).toMatchObject({ status: 'succeeded', trouble: null, error: null });
    const run = await client.runs.create(RUN, { waitSeconds: 30 });
    expect(run).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('plays the model in a worker that it starts by itself', async () => {
    const { client, parts } = await startEmbedded({ worker: false });
    const worker = startWorker({ ...parts });
    onTestFinished(() => worker.stop(2_000));
    // A worker without training works on runs alone: a service beside it works on the job, and is gone for the run.
    const other = await startRunService({ ...parts, host: '127.0.0.1', port: 0, appUrl: APP_URL });
    onTestFinished(() => other.close());
    expect(await train(client)).toMatchObject({ status: 'succeeded' });
    await other.close();
    const run = await client.runs.create(RUN, { waitSeconds: 30 });
    expect(run).toMatchObject({ status: 'completed', reward: 1 });
  });
});
