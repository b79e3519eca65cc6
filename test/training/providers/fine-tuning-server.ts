import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** The wire of OpenAI's files and fine-tuning jobs, kept strictly, with chat completions of what was trained. */
export interface FineTuningServer {
  /** With its `/v1`. */
  readonly url: string;
  readonly files: Map<string, ServerFile>;
  readonly jobs: Map<string, ServerJob>;
  /** `POST /v1/files` and so on, in order. */
  readonly requests: string[];
  /** Model names that answer; undefined: all. */
  answering: ReadonlySet<string> | undefined;
  /** Answers with this status in place of everything. */
  away: number | undefined;
  /** Called before a request is answered: it may wait, or throw, which cuts the connection after the work was done. */
  intercept: (request: string, when: 'before' | 'after') => Promise<void> | void;
  event(jobId: string, event: Partial<ServerEvent>): void;
}

interface ServerFile {
  readonly id: string;
  readonly filename: string;
  readonly text: string;
}

interface ServerEvent {
  id: string;
  level: string;
  message: string;
  type: string;
  data: object;
}

export interface ServerJob {
  readonly id: string;
  readonly body: z.infer<typeof jobSchema>;
  status: string;
  fine_tuned_model: string | null;
  error: { code: string; message: string; param: string | null } | null;
  readonly events: ServerEvent[];
  readonly checkpoints: { id: string; fine_tuned_model_checkpoint: string; step_number: number; metrics: object }[];
}

const hyperparametersSchema = z.strictObject({
  n_epochs: z.union([z.literal('auto'), z.int().min(1).max(50)]).optional(),
  batch_size: z.union([z.literal('auto'), z.int().min(1).max(256)]).optional(),
  learning_rate_multiplier: z.union([z.literal('auto'), z.number().positive()]).optional(),
});
const jobSchema = z.strictObject({
  model: z.string().min(1),
  training_file: z.string().min(1),
  validation_file: z.string().optional(),
  suffix: z.string().max(64).optional(),
  seed: z.int().optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
  method: z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('supervised'),
      supervised: z.strictObject({ hyperparameters: hyperparametersSchema }),
    }),
    z.strictObject({ type: z.literal('dpo'), dpo: z.strictObject({ hyperparameters: z.looseObject({}) }) }),
  ]),
});

export const KEY = 'sk-training-0123456789abcdef';

export async function startFineTuningServer(): Promise<FineTuningServer> {
  const server = createServer((request, response) => {
    answer(state, request, response).catch((error: unknown) => {
      if (error instanceof Refusal) return reply(response, error.status, { error: error.body });
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const address = server.address();
  const state: FineTuningServer = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`,
    files: new Map(),
    jobs: new Map(),
    requests: [],
    answering: undefined,
    away: undefined,
    intercept: () => {},
    event(jobId, event) {
      const events = state.jobs.get(jobId)?.events;
      const id = `ftevent-${String(events?.length ?? 0).padStart(4, '0')}`;
      events?.push({ id, level: 'info', message: 'Something happened.', type: 'message', data: {}, ...event });
    },
  };
  return state;
}

class Refusal extends Error {
  readonly status: number;
  readonly body: { message: string; type: string; param: string | null; code: string | null };

  constructor(status: number, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.body = { message, type: 'invalid_request_error', param, code: null };
  }
}

async function answer(state: FineTuningServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', state.url);
  const label = `${request.method} ${url.pathname}`;
  const body = await readBody(request);
  state.requests.push(label);
  if (state.away !== undefined) throw new Refusal(state.away, 'The server is having a break');
  if (request.headers.authorization !== `Bearer ${KEY}`)
    throw new Refusal(401, `Incorrect API key: ${request.headers.authorization}`);
  await state.intercept(label, 'before');
  const given = route(state, request, url, body);
  await state.intercept(label, 'after');
  reply(response, 200, given);
}

function route(state: FineTuningServer, request: IncomingMessage, url: URL, body: Buffer): object {
  const [, , ...path] = url.pathname.split('/');
  const place = `${request.method} /${path.join('/')}`;
  if (place === 'POST /files') return createFile(state, request, body);
  if (place === 'GET /files') {
    return page([...state.files.values()].map(toFile).reverse(), url);
  }
  if (place === 'POST /fine_tuning/jobs') return createJob(state, request, body);
  if (place === 'GET /fine_tuning/jobs') {
    const wanted = [...url.searchParams].filter(([name]) => name.startsWith('metadata['));
    const jobs = [...state.jobs.values()].filter(({ body: { metadata = {} } }) =>
      wanted.every(([name, value]) => metadata[name.slice(9, -1)] === value),
    );
    return page(jobs.map(toJob).reverse(), url);
  }
  if (place === 'POST /chat/completions') return complete(state, body);
  const [, , id = '', part] = path;
  const job = path[0] === 'fine_tuning' && path[1] === 'jobs' ? state.jobs.get(id) : undefined;
  if (job === undefined) throw new Refusal(404, `Invalid URL (${place})`);
  if (request.method === 'GET' && part === undefined) return toJob(job);
  if (request.method === 'GET' && part === 'events') {
    return page(
      job.events.map((event) => ({ object: 'fine_tuning.job.event', created_at: 1, ...event })).reverse(),
      url,
    );
  }
  if (request.method === 'GET' && part === 'checkpoints') {
    return page(
      job.checkpoints.map((each) => ({
        object: 'fine_tuning.job.checkpoint',
        created_at: 1,
        fine_tuning_job_id: job.id,
        ...each,
      })),
      url,
    );
  }
  if (request.method === 'POST' && part === 'cancel') {
    if (['succeeded', 'failed', 'cancelled'].includes(job.status))
      throw new Refusal(400, `Job has already ${job.status}`);
    job.status = 'cancelled';
    return toJob(job);
  }
  throw new Refusal(404, `Invalid URL (${place})`);
}

function createFile(state: FineTuningServer, request: IncomingMessage, body: Buffer): object {
  const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')?.[1]?.replace(/^"|"$/g, '');
  if (boundary === undefined) throw new Refusal(400, 'The body is no form');
  const parts = body.toString('utf8').split(`--${boundary}`).slice(1, -1);
  const fields = new Map<string, { readonly filename: string | undefined; readonly text: string }>();
  for (const part of parts) {
    const at = part.indexOf('\r\n\r\n');
    const head = part.slice(0, at);
    const name = / name="([^"]*)"/.exec(head)?.[1] ?? '';
    fields.set(name, { filename: /filename="([^"]*)"/.exec(head)?.[1], text: part.slice(at + 4, -2) });
  }
  const file = fields.get('file');
  if (fields.get('purpose')?.text !== 'fine-tune') throw new Refusal(400, 'Invalid purpose', 'purpose');
  if (file?.filename === undefined || !file.filename.endsWith('.jsonl')) throw new Refusal(400, 'Invalid file', 'file');
  for (const line of file.text.trim().split('\n')) JSON.parse(line);
  const id = `file-${state.files.size + 1}`;
  state.files.set(id, { id, filename: file.filename, text: file.text });
  return toFile({ id, filename: file.filename, text: file.text });
}

function createJob(state: FineTuningServer, request: IncomingMessage, body: Buffer): object {
  if (!request.headers['content-type']?.startsWith('application/json')) throw new Refusal(400, 'The body is no JSON');
  const parsed = jobSchema.safeParse(JSON.parse(body.toString('utf8')));
  if (!parsed.success) throw new Refusal(400, z.prettifyError(parsed.error));
  if (!state.files.has(parsed.data.training_file)) throw new Refusal(400, 'No such file', 'training_file');
  const id = `ftjob-${state.jobs.size + 1}`;
  const job: ServerJob = {
    ...{ id, body: parsed.data, status: 'validating_files', fine_tuned_model: null, error: null },
    ...{ events: [], checkpoints: [] },
  };
  state.jobs.set(id, job);
  return toJob(job);
}

const chatSchema = z.looseObject({
  model: z.string(),
  tools: z.array(z.looseObject({ type: z.literal('function') })).optional(),
});

function complete(state: FineTuningServer, body: Buffer): object {
  const { model } = chatSchema.parse(JSON.parse(body.toString('utf8')));
  if (state.answering?.has(model) === false) throw new Refusal(404, `The model ${model} does not exist`, 'model');
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model },
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Yes.', refusal: null } }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function toFile({ id, filename, text }: ServerFile): { id: string } {
  return {
    id,
    ...{ object: 'file', bytes: text.length, created_at: 1, filename, purpose: 'fine-tune', status: 'processed' },
  };
}

function toJob({ id, body, status, fine_tuned_model, error }: ServerJob): { id: string } {
  return {
    id,
    ...{ object: 'fine_tuning.job', created_at: 1, finished_at: null, organization_id: 'org-1', result_files: [] },
    ...{
      validation_file: null,
      trained_tokens: null,
      seed: 1,
      integrations: [],
      ...body,
      status,
      fine_tuned_model,
      error,
    },
  };
}

function page(all: readonly { readonly id: string }[], url: URL): object {
  const limit = Number(url.searchParams.get('limit') ?? 20);
  if (!(limit >= 1 && limit <= 100)) throw new Refusal(400, 'Invalid limit', 'limit');
  const after = url.searchParams.get('after');
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const data = all.slice(from, from + limit);
  return { object: 'list', data, has_more: from + limit < all.length };
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
