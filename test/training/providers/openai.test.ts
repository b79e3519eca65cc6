import { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { trainingJobListSchema } from '../../../src/contract/service/training.ts';
import { until } from '../../until.ts';
import { startTrainingService, type TrainingService } from '../jobs/trained.ts';
import { KEY, startFineTuningServer } from './fine-tuning-server.ts';

async function start() {
  const server = await startFineTuningServer();
  const trainers = { lab: { kind: 'openai', url: server.url, apiKey: KEY, deploy: 'none' } } as const;
  const gateways = [{ pattern: '*', baseUrl: server.url, apiKey: KEY }];
  const training = await startTrainingService({ trainers, gateways });
  const client = new OpenAI({ baseURL: server.url, apiKey: KEY, maxRetries: 0 });
  return { server, training, client };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function listed({ service }: TrainingService) {
  return trainingJobListSchema.parse((await service.request('/v1/training/jobs')).json).data;
}

/** The provider's job, once there is one. */
async function providerJob(server: Awaited<ReturnType<typeof startFineTuningServer>>) {
  return await until(() => [...server.jobs.values()][0] ?? false);
}

describe('a trainer on the wire of OpenAI', () => {
  it('trains: files, job, events, metrics, checkpoints and the model are those that another client of the wire sees', async () => {
    const { server, training, client } = await start();
    const jobId = await training.begin({
      hyperparameters: { n_epochs: 2, seed: 5 },
      select: { include_reference: true, validation: 0.2 },
    });
    await training.reaches(jobId, 'queued');
    const job = await providerJob(server);
    const seen = await client.fineTuning.jobs.retrieve(job.id);
    expect(seen).toMatchObject({ model: 'base-1', seed: 5, metadata: { proctor_job_id: jobId } });
    expect(seen.method).toMatchObject({ type: 'supervised', supervised: { hyperparameters: { n_epochs: 2 } } });
    const files = await all(client.files.list({ limit: 1 }));
    expect(files.map(({ filename }) => filename).sort()).toEqual([`${jobId}-train.jsonl`, `${jobId}-validation.jsonl`]);

    job.status = 'running';
    // More than a page of each.
    for (let step = 1; step <= 130; step += 1) {
      server.event(job.id, { type: 'metrics', message: `Step ${step}`, data: { step, train_loss: 1 / step } });
    }
    job.checkpoints.push(
      ...Array.from({ length: 101 }, (_, index) => ({
        ...{ id: `ftckpt_${index}`, fine_tuned_model_checkpoint: `ft:base-1:better:ckpt-step-${index}` },
        ...{ step_number: index, metrics: { step: index, train_loss: 0.5 } },
      })),
    );
    await training.reaches(jobId, 'training');
    await until(async () => {
      training.pass(6_000);
      return (await training.job(jobId)).checkpoints.length === 101;
    });
    const metrics = (await training.events(jobId)).flatMap((event) => (event.type === 'metrics' ? [event.step] : []));
    expect(metrics).toEqual(Array.from({ length: 130 }, (_, index) => index + 1));
    expect(await all(client.fineTuning.jobs.listEvents(job.id, { limit: 100 }))).toHaveLength(130);
    expect(await all(client.fineTuning.jobs.checkpoints.list(job.id, { limit: 100 }))).toHaveLength(101);

    Object.assign(job, { status: 'succeeded', fine_tuned_model: 'ft:base-1:org:better:1' });
    const ended = await training.reaches(jobId, 'succeeded');
    expect(ended).toMatchObject({ target: 'ft:base-1:org:better:1', error: null, provider_ids: { job: job.id } });
    const registered = await training.service.request('/v1/models/registered/better');
    expect(registered.json).toMatchObject({ target: ended.target, base: 'base-1', training_job: jobId, head: null });
  });

  it('fails in validation with the sentence of the provider, and with the state in which it failed', async () => {
    const { server, training } = await start();
    const jobId = await training.begin();
    const job = await providerJob(server);
    Object.assign(job, {
      status: 'failed',
      error: { code: 'invalid_training_file', param: 'training_file', message: 'Line 7, message 2: role is missing.' },
    });
    const { error } = await training.reaches(jobId, 'failed');
    expect(error).toMatchObject({ code: 'file_refused', status: 'queued' });
    expect(error?.message).toContain('Line 7, message 2');
    expect(error?.message).toContain('sources.jsonl');
  });

  it('fails with a refused request, and says the field', async () => {
    const { training } = await start();
    const jobId = await training.begin({ hyperparameters: { n_epochs: 99 } });
    const { error } = await training.reaches(jobId, 'failed');
    expect(error).toMatchObject({ code: 'provider_refused', status: 'uploading' });
    expect(error?.message).toContain('n_epochs');
  });

  it('goes on after a minute in which the provider was away, in any state, with one job', async () => {
    const { server, training } = await start();
    server.away = 503;
    const jobId = await training.begin();
    await until(async () => {
      training.pass(6_000);
      return (await training.job(jobId)).trouble !== null;
    });
    expect((await training.job(jobId)).trouble?.message).toContain('503');
    server.away = undefined;
    await training.reaches(jobId, 'queued');
    const job = await providerJob(server);
    job.status = 'running';
    await training.reaches(jobId, 'training');
    server.away = 500;
    await until(async () => {
      training.pass(60_000);
      return (await training.job(jobId)).trouble !== null;
    });
    server.away = undefined;
    Object.assign(job, { status: 'succeeded', fine_tuned_model: 'ft:1' });
    await training.reaches(jobId, 'succeeded');
    expect(server.jobs.size).toBe(1);
    expect((await training.job(jobId)).trouble).toBeNull();
  });

  it('makes one job where the answer to its creation got lost', async () => {
    const { server, training } = await start();
    let lost = 0;
    server.intercept = (request, when) => {
      if (when === 'before' || lost > 1 || request === 'GET /v1/files') return;
      if (request !== 'POST /v1/fine_tuning/jobs' && request !== 'POST /v1/files') return;
      lost += 1;
      throw new Error('The connection is cut');
    };
    const jobId = await training.begin();
    await training.reaches(jobId, 'queued');
    expect([server.jobs.size, server.files.size, lost]).toEqual([1, 1, 2]);
  });

  it('waits without limit in the queue of the provider, and warns after six hours', async () => {
    const { server, training } = await start();
    const jobId = await training.begin();
    await training.reaches(jobId, 'queued');
    const polls = () =>
      server.requests.filter((request) => /^GET \/v1\/fine_tuning\/jobs\/[^/]+$/.test(request)).length;
    await until(() => polls() > 0);
    const warnings = async () =>
      (await training.events(jobId)).filter((event) => event.type === 'log' && event.message.includes('6 hours'));
    expect(await warnings()).toEqual([]);
    training.pass(7 * 60 * 60_000);
    await until(async () => (await warnings()).length === 1);
    training.pass(60_000);
    const before = polls();
    await until(() => {
      training.pass(60_000);
      return polls() > before;
    });
    expect(await warnings()).toHaveLength(1);
    expect((await training.job(jobId)).status).toBe('queued');
  });

  it('fails where the finished model never answers, and says how to register it once it does', async () => {
    const { server, training } = await start();
    server.answering = new Set(['base-1']);
    const jobId = await training.begin();
    Object.assign(await providerJob(server), { status: 'succeeded', fine_tuned_model: 'ft:mute' });
    await training.reaches(jobId, 'deploying');
    await until(async () => {
      training.pass(60_000);
      return (await training.job(jobId)).trouble !== null;
    });
    training.pass(31 * 60_000);
    const { error } = await training.reaches(jobId, 'failed');
    expect(error).toMatchObject({ code: 'deploy_timeout', status: 'deploying' });
    expect(error?.message).toContain('proctor models add better --target ft:mute --base base-1');
  });

  it('fails where the provider names no model', async () => {
    const { server, training } = await start();
    const jobId = await training.begin();
    Object.assign(await providerJob(server), { status: 'succeeded' });
    expect((await training.reaches(jobId, 'failed')).error?.code).toBe('model_missing');
  });

  it('tells no key of the provider', async () => {
    const { server, training } = await start();
    server.intercept = (request) => {
      if (request.startsWith('POST /v1/files')) throw Object.assign(new Error('x'), {});
    };
    const jobId = await training.begin();
    await until(async () => (await training.job(jobId)).trouble !== null);
    expect(JSON.stringify([await training.job(jobId), await training.events(jobId)])).not.toContain(KEY);
  });
});

describe('a cancel', () => {
  it('ends the job at the provider', async () => {
    const { server, training } = await start();
    const jobId = await training.begin();
    await training.reaches(jobId, 'queued');
    await training.service.request(`/v1/training/jobs/${jobId}/cancel`, { method: 'POST' });
    await training.reaches(jobId, 'cancelled');
    expect((await providerJob(server)).status).toBe('cancelled');
    const again = await training.service.request(`/v1/training/jobs/${jobId}/cancel`, { method: 'POST' });
    expect([again.status, again.json]).toMatchObject([409, { error: { code: 'run_finished' } }]);
  });

  it('that comes too late leaves the model that the provider has finished', async () => {
    const { server, training } = await start();
    const jobId = await training.begin();
    await training.reaches(jobId, 'queued');
    const job = await providerJob(server);
    server.intercept = (request, when) => {
      if (when === 'before' && request.endsWith('/cancel'))
        Object.assign(job, { status: 'succeeded', fine_tuned_model: 'ft:late' });
    };
    await training.service.request(`/v1/training/jobs/${jobId}/cancel`, { method: 'POST' });
    const ended = await training.reaches(jobId, 'succeeded');
    expect(ended).toMatchObject({ target: 'ft:late', cancel_requested: false });
    const said = (await training.events(jobId)).flatMap((event) => (event.type === 'log' ? [event.message] : []));
    expect(said.join(' ')).toContain('too late');
  });

  it('while the job is being made at the provider ends that one too', async () => {
    const { server, training } = await start();
    const [reached, held] = [gate(), gate()];
    server.intercept = async (request, when) => {
      if (when !== 'after' || request !== 'POST /v1/fine_tuning/jobs') return;
      reached.open();
      await held.opened;
    };
    const jobId = await training.begin();
    await reached.opened;
    await training.service.request(`/v1/training/jobs/${jobId}/cancel`, { method: 'POST' });
    await training.reaches(jobId, 'cancelled');
    held.open();
    expect([...server.jobs.values()].map(({ status }) => status)).toEqual(['cancelled']);
  });
});

describe('a job', () => {
  it('has its name for itself: a second one of the name is 409 while it goes on, and once the model is registered', async () => {
    const { server, training } = await start();
    const body = JSON.stringify({
      ...{ name: 'better', base: 'base-1', provider: 'lab', select: { include_reference: true } },
      from: { evaluations: [training.evaluationId] },
    });
    const headers = { 'content-type': 'application/json' };
    const begin = () => training.service.request('/v1/training/jobs', { method: 'POST', headers, body });
    // Two people at once.
    const replies = await Promise.all([begin(), begin()]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
    Object.assign(await providerJob(server), { status: 'succeeded', fine_tuned_model: 'ft:1' });
    const [job] = await listed(training);
    await training.reaches(job?.job_id ?? '', 'succeeded');
    expect([(await begin()).json, server.jobs.size]).toMatchObject([
      { error: { code: 'name_taken', param: 'name' } },
      1,
    ]);
  });

  it('is made once for one Idempotency-Key', async () => {
    const { training } = await start();
    const first = await training.begin({}, { 'idempotency-key': 'one' });
    expect(await training.begin({}, { 'idempotency-key': 'one' })).toBe(first);
  });

  it('is refused before it exists: an unknown trainer, a method that it has not, a base that nobody has', async () => {
    const { training } = await start();
    const refuse = async (body: object) => {
      const all = {
        name: 'x',
        base: 'base-1',
        provider: 'lab',
        from: { evaluations: [training.evaluationId] },
        ...body,
      };
      const headers = { 'content-type': 'application/json' };
      const reply = await training.service.request('/v1/training/jobs', {
        method: 'POST',
        headers,
        body: JSON.stringify(all),
      });
      return { status: reply.status, ...errorBodySchema.parse(reply.json).error };
    };
    expect(await refuse({ provider: 'labb' })).toMatchObject({
      status: 404,
      code: 'provider_not_found',
      param: 'provider',
    });
    expect(await refuse({ provider: 'proctor/imitation', method: 'dpo' })).toMatchObject({
      status: 400,
      param: 'method',
    });
    expect(await refuse({ provider: 'proctor/imitation', base: 'proctor/nobody' })).toMatchObject({
      status: 404,
      param: 'base',
    });
    expect(await refuse({ evaluate: {} })).toMatchObject({ status: 400, param: 'evaluate.tasks' });
    expect(await refuse({ name: 'a b' })).toMatchObject({ status: 400, param: 'name' });
    expect(await listed(training)).toEqual([]);
  });
});
