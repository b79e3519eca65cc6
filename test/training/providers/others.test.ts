import { createServer, type IncomingMessage } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { TrainerConfig } from '../../../src/training/trainer-config.ts';
import { until } from '../../until.ts';
import { startTrainingService } from '../jobs/trained.ts';
import { startFineTuningServer } from './fine-tuning-server.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | undefined;
}

/** A server that answers by a function, until the test ends. What it does not know is 404. */
async function serve(answer: (asked: Asked, url: string) => Answer | undefined) {
  const log: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', url);
    const { method = '', headers } = request;
    log.push(`${method} ${path}`);
    const asked = { method, path, query, headers, text: Buffer.concat(chunks).toString('utf8') };
    const { status = 200, headers: given = {}, body = {} } = answer(asked, url) ?? { status: 404 };
    response.writeHead(status, { 'content-type': 'application/json', ...given }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return { url, log };
}

async function start(config: TrainerConfig) {
  const models = await startFineTuningServer();
  const gateways = [{ pattern: '*', baseUrl: models.url, apiKey: 'sk-training-0123456789abcdef' }];
  return await startTrainingService({ trainers: { lab: config }, gateways });
}

describe('a trainer on the wire of Together', () => {
  it('sends the file to the address that it is given, without the key, and finds its job by the suffix', async () => {
    const sent: Asked[] = [];
    const jobs: Record<string, unknown>[] = [];
    const { url, log } = await serve((asked, own) => {
      const { method, path, text } = asked;
      sent.push(asked);
      if (path === '/store/file-1') return {};
      if (asked.headers.authorization !== 'Bearer tgp_v1_secret0123456789') return { status: 401 };
      if (path === '/v1/files' && method === 'GET') return { body: { data: [] } };
      if (path === '/v1/files') {
        return {
          status: 302,
          headers: { location: `${own}/store/file-1?signature=x`, 'x-together-file-id': 'file-1' },
        };
      }
      if (path === '/v1/files/file-1/preprocess') return {};
      if (path === '/v1/fine-tunes' && method === 'POST') {
        jobs.push({ id: 'ft-1', status: 'pending', ...JSON.parse(text) });
        // The answer gets lost: the next try finds the job.
        return jobs.length === 1 ? { status: 502 } : { body: jobs[0] };
      }
      if (path === '/v1/fine-tunes') return { body: { data: jobs } };
      if (path === '/v1/fine-tunes/ft-1') return { body: jobs[0] };
      if (path === '/v1/fine-tunes/ft-1/metrics') return { body: { metrics: [{ step: 1, 'train/loss': 0.5 }] } };
      if (path === '/v1/fine-tunes/ft-1/checkpoints') return { body: { data: [{ step: 1, path: 'ckpt-1' }] } };
      if (path === '/v1/fine-tunes/ft-1/events') {
        return {
          body: {
            data: [{ object: 'fine-tune-event', created_at: '2026-01-01', message: 'Begun', type: 'job_start' }],
          },
        };
      }
      return undefined;
    });
    const training = await start({
      kind: 'together',
      url: `${url}/v1`,
      apiKey: 'tgp_v1_secret0123456789',
      deploy: 'none',
    });
    const jobId = await training.begin();
    await training.reaches(jobId, 'queued');
    expect(jobs).toHaveLength(1);
    expect(jobs[0]).toMatchObject({
      ...{ model: 'base-1', training_file: 'file-1', suffix: jobId.replace('train_', 'proctor-') },
      training_method: { method: 'sft', train_on_inputs: false },
    });
    const store = sent.find(({ path }) => path === '/store/file-1');
    expect(store?.headers.authorization).toBeUndefined();
    expect(store?.text.trim().split('\n')).toHaveLength(24);
    expect(log.filter((each) => each === 'POST /v1/fine-tunes')).toHaveLength(1);
    Object.assign(jobs[0] ?? {}, { status: 'completed', model_output_name: 'org/better' });
    const ended = await training.reaches(jobId, 'succeeded');
    expect(ended).toMatchObject({ target: 'org/better', checkpoints: [{ step: 1, target: 'ckpt-1' }] });
    const metrics = (await training.events(jobId)).filter(({ type }) => type === 'metrics');
    expect(metrics).toMatchObject([{ step: 1, metrics: { 'train/loss': 0.5 } }]);
  });

  it('fails with the sentence of a limit of the account', async () => {
    const { url } = await serve(({ method, path }) => {
      if (path === '/v1/files' && method === 'GET') return { body: { data: [] } };
      if (path === '/v1/files')
        return { status: 302, headers: { location: `${url}/store`, 'x-together-file-id': 'f' } };
      if (path === '/v1/fine-tunes' && method === 'GET') return { body: { data: [] } };
      if (path === '/v1/fine-tunes/ft-1') return { body: { id: 'ft-1', status: 'error' } };
      if (path.endsWith('/events')) {
        return {
          body: {
            data: [{ created_at: '2026-01-01', message: 'The limit of 5 USD is reached.', type: 'billing_limit' }],
          },
        };
      }
      return path.startsWith('/v1/fine-tunes/') ? { status: 404 } : { body: { id: 'ft-1' } };
    });
    const training = await start({ kind: 'together', url: `${url}/v1`, apiKey: 'k', deploy: 'none' });
    const { error } = await training.reaches(await training.begin(), 'failed');
    expect(error?.code).toBe('billing_limit');
    expect(error?.message).toContain('5 USD');
  });
});

describe('a trainer on the wire of Fireworks', () => {
  it('makes a dataset and a job whose names carry ours, and one of each', async () => {
    const datasets = new Map<string, { state: string; text: string }>();
    const jobs: Record<string, unknown>[] = [];
    const base = '/v1/accounts/acme';
    const { url, log } = await serve(({ method, path, text }) => {
      const id = path.replace(`${base}/datasets/`, '').replace(/:upload$/, '');
      const dataset = datasets.get(id);
      if (path === `${base}/datasets`) {
        const { datasetId } = JSON.parse(text);
        datasets.set(datasetId, { state: 'UPLOADING', text: '' });
        return {};
      }
      if (path.endsWith(':upload') && dataset !== undefined) {
        Object.assign(dataset, { state: 'READY', text });
        return {};
      }
      if (path.startsWith(`${base}/datasets/`)) return dataset && { body: { state: dataset.state } };
      if (path === `${base}/supervisedFineTuningJobs` && method === 'POST') {
        jobs.push({
          name: 'accounts/acme/supervisedFineTuningJobs/j1',
          state: 'JOB_STATE_CREATING',
          ...JSON.parse(text),
        });
        return { status: 500 };
      }
      if (path === `${base}/supervisedFineTuningJobs`) return { body: { supervisedFineTuningJobs: jobs } };
      return path === `${base}/supervisedFineTuningJobs/j1` ? { body: jobs[0] ?? {} } : undefined;
    });
    const training = await start({ kind: 'fireworks', url: `${url}${base}`, apiKey: 'fw', deploy: 'none' });
    const jobId = await training.begin({ hyperparameters: { epochs: 2 } });
    await training.reaches(jobId, 'queued');
    const name = jobId.replace('train_', 'proctor-');
    expect(jobs).toMatchObject([
      {
        ...{ displayName: jobId, baseModel: 'base-1', epochs: 2 },
        ...{ dataset: `accounts/acme/datasets/${name}-train`, outputModel: `accounts/acme/models/${name}` },
      },
    ]);
    expect(datasets.get(`${name}-train`)?.text).toContain('"messages"');
    expect(log.filter((each) => each === `POST ${base}/supervisedFineTuningJobs`)).toHaveLength(1);
    Object.assign(jobs[0] ?? {}, {
      state: 'JOB_STATE_FAILED',
      status: { code: 'INVALID_ARGUMENT', message: 'Line 3 is bad' },
    });
    const { error } = await training.reaches(jobId, 'failed');
    expect(error).toMatchObject({ code: 'file_refused' });
    expect(error?.message).toContain('Line 3 is bad');
  });
});

describe('a deploy step', () => {
  it('of vllm-lora loads the adapter under the name of the model, and one that is loaded already is there', async () => {
    const loads: unknown[] = [];
    const server = await serve(({ path, text }) => {
      if (path === '/v1/load_lora_adapter') {
        loads.push(JSON.parse(text));
        return loads.length === 1
          ? { status: 503 }
          : { status: 400, body: { message: 'The lora adapter has already been loaded.' } };
      }
      const message = { role: 'assistant', content: 'Yes.' };
      return {
        body: {
          id: 'c',
          object: 'chat.completion',
          model: 'm',
          choices: [{ index: 0, finish_reason: 'stop', message }],
        },
      };
    });
    const script = `console.log(JSON.stringify({ event: 'model', name: '/adapters/better' }))`;
    const training = await startTrainingService({
      trainers: {
        lab: {
          kind: 'command',
          command: [process.execPath, '-e', script],
          env: {},
          deploy: 'vllm-lora',
          gateway: 'gpu-*',
        },
      },
      gateways: [{ pattern: 'gpu-*', baseUrl: `${server.url}/v1` }],
    });
    const job = await training.reaches(await training.begin(), 'succeeded');
    expect(job.target).toBe('better');
    expect(loads.at(-1)).toEqual({ lora_name: 'better', lora_path: '/adapters/better' });
    const registered = await training.service.request('/v1/models/registered/better');
    expect(registered.json).toMatchObject({ gateway: 'gpu-*', target: 'better' });
  });

  it('of nebius makes the model once, and waits until it is active', async () => {
    const made: Record<string, unknown>[] = [];
    const { url } = await serve(({ method, path, text }) => {
      if (path === '/v1/files') return { body: method === 'POST' ? { id: 'file-1' } : { data: [] } };
      if (path === '/v1/fine_tuning/jobs') return { body: method === 'POST' ? { id: 'ftjob-1' } : { data: [] } };
      if (path === '/v1/fine_tuning/jobs/ftjob-1') return { body: { id: 'ftjob-1', status: 'succeeded' } };
      if (path.endsWith('/checkpoints')) return { body: { data: [{ id: 'ckpt_9', step_number: 9, metrics: {} }] } };
      if (path === '/v0/models' && method === 'GET') return { body: { data: made } };
      if (path === '/v0/models') {
        made.push({ ...JSON.parse(text), name: 'meta/llama-LoRa:better', status: 'validating' });
        return { status: 504 };
      }
      return path === '/v0/models/meta%2Fllama-LoRa%3Abetter' ? { body: made[0] ?? {} } : { body: { data: [] } };
    });
    const training = await start({
      ...{ kind: 'openai', url: `${url}/v1`, apiKey: 'k', deploy: 'nebius', deployBase: 'meta/llama-fast' },
    });
    const jobId = await training.begin();
    await training.reaches(jobId, 'deploying');
    await until(() => {
      training.pass(6_000);
      return made.length === 1;
    });
    Object.assign(made[0] ?? {}, { status: 'active' });
    const job = await training.reaches(jobId, 'succeeded');
    expect(job.target).toBe('meta/llama-LoRa:better');
    expect(made).toMatchObject([{ source: 'ftjob-1:ckpt_9', base_model: 'meta/llama-fast', description: jobId }]);
  });
});
