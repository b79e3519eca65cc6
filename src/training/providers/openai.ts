import type { JsonObject } from '../../contract/json.ts';
import type { Checkpoint } from '../../contract/model.ts';
import type { NewTrainingEvent } from '../../contract/service/training.ts';
import { createFineTuningProvider, type FineTuningOptions } from './fine-tuning-provider.ts';
import { ProviderRefused, type ProviderReport, type TrainingProvider, type TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress } from './provider-http.ts';
import { numberIn, numbersIn, objectIn, objectsIn, shortText, textIn } from './wire-values.ts';

/** Metadata key that holds the job's id at the provider. */
const JOB_ID = 'proctor_job_id';
/** Largest number of pages that are read of a list. */
const MAX_PAGES = 50;
const PAGE = '100';

export interface OpenAiOptions extends FineTuningOptions {
  /** `top` puts the hyperparameters beside `method` in the body, as Nebius requires. */
  readonly hyperparameters?: 'method' | 'top';
}

/** The API of OpenAI's files and fine-tuning jobs, at any base URL. */
export function createOpenAiProvider(options: OpenAiOptions): TrainingProvider {
  const list = (work: TrainingWork, path: string, query: Readonly<Record<string, string>> = {}) =>
    pagesOf(options, work.signal, path, query);
  return createFineTuningProvider(options, {
    kind: 'openai',
    methods: ['supervised', 'dpo'],
    minimumLines: 10,
    maximumBytes: 512 * 1024 * 1024,
    format: (method) => (method === 'dpo' ? 'openai-dpo' : 'openai'),
    uploadFile: (work, part, path) => uploadFile(options, work, part, path),
    findJob: (work) => findJob(options, work),
    createJob: (work) => create(options, work),
    toCancel: (work) => ({ path: `${jobPath(work)}/cancel` }),
    async poll(work) {
      const { body } = await askProvider(options, { method: 'GET', path: jobPath(work), signal: work.signal });
      const events = await newEvents(list(work, `${jobPath(work)}/events`), work.remote._last_event);
      const checkpoints = await readCheckpoints(list(work, `${jobPath(work)}/checkpoints`));
      return toReport(options, body, events, checkpoints);
    },
  });
}

function jobPath({ remote }: TrainingWork): string {
  return `/fine_tuning/jobs/${encodeURIComponent(remote.job ?? '')}`;
}

/** The items of a list, read page by page. */
async function* pagesOf(
  address: ProviderAddress,
  signal: AbortSignal,
  path: string,
  query: Readonly<Record<string, string>>,
): AsyncGenerator<JsonObject, void> {
  let after: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const paging: Record<string, string> = after === undefined ? { limit: PAGE } : { limit: PAGE, after };
    // A list that the provider does not offer counts as empty.
    const { body, status } = await askProvider(address, {
      method: 'GET',
      path,
      query: { ...query, ...paging },
      signal,
      allowed: [404, 405],
    });
    if (status >= 400) return;
    const items = objectsIn(body, 'data');
    yield* items;
    const last = items.at(-1);
    after = last && textIn(last, 'id');
    if (body.has_more !== true || after === undefined) return;
  }
}

/** Finds or uploads a file of the job. The name of the file contains the job's id. */
async function uploadFile(
  address: ProviderAddress,
  work: TrainingWork,
  part: 'train' | 'validation',
  path: string,
): Promise<void> {
  const key = `${part}_file`;
  if (work.remote[key] !== undefined) return;
  const name = fileName(work, part);
  for await (const file of pagesOf(address, work.signal, '/files', { purpose: 'fine-tune' })) {
    const id = textIn(file, 'id');
    if (textIn(file, 'filename') === name && id !== undefined && file.status !== 'error') {
      return await work.keep({ [key]: id });
    }
  }
  await work.stillMine();
  const form = { fields: { purpose: 'fine-tune' }, file: { path, name } };
  const { body } = await askProvider(address, { method: 'POST', path: '/files', form, signal: work.signal });
  const id = textIn(body, 'id');
  if (id === undefined)
    throw new ProviderRefused('provider_refused', `${address.name} took the file ${name} and gave it no id.`);
  if (body.status === 'error') {
    const why = textIn(body, 'status_details') ?? 'it does not say why';
    throw new ProviderRefused('file_refused', `${address.name} refused the file ${name}: ${shortText(why)}`);
  }
  await work.keep({ [key]: id });
}

export function fileName({ jobId }: TrainingWork, part: 'train' | 'validation'): string {
  return `${jobId}-${part}.jsonl`;
}

async function findJob(address: ProviderAddress, work: TrainingWork): Promise<string | undefined> {
  // Some servers neither filter nor store metadata. Then the training file identifies the job.
  for await (const job of pagesOf(address, work.signal, '/fine_tuning/jobs', { [`metadata[${JOB_ID}]`]: work.jobId })) {
    const isOurs =
      textIn(objectIn(job, 'metadata'), JOB_ID) === work.jobId ||
      (work.remote.train_file !== undefined && job.training_file === work.remote.train_file);
    if (isOurs) return textIn(job, 'id');
  }
  return undefined;
}

async function create(options: OpenAiOptions, work: TrainingWork): Promise<string> {
  const { base, method, hyperparameters, remote } = work;
  const { seed, ...others } = hyperparameters;
  const isTop = options.hyperparameters === 'top';
  const json: JsonObject = {
    model: base,
    training_file: remote.train_file ?? '',
    ...(remote.validation_file === undefined ? {} : { validation_file: remote.validation_file }),
    suffix: toSuffix(work.name),
    ...(typeof seed === 'number' ? { seed } : {}),
    metadata: { [JOB_ID]: work.jobId },
    ...(isTop ? { hyperparameters: others } : {}),
    method: { type: method, [method]: isTop ? {} : { hyperparameters: others } },
  };
  await work.stillMine();
  const { body } = await askProvider(options, { method: 'POST', path: '/fine_tuning/jobs', json, signal: work.signal });
  const id = textIn(body, 'id');
  if (id === undefined) throw new ProviderRefused('provider_refused', `${options.name} made a job and gave it no id.`);
  return id;
}

/** A prefix for the model's name, in characters that every server accepts. */
function toSuffix(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 40);
}

interface NewEvents {
  readonly events: readonly NewTrainingEvent[];
  readonly last: string | undefined;
}

/** Events after the last one that was read, from a list that is sorted newest first. */
async function newEvents(newestFirst: AsyncIterable<JsonObject>, last: string | undefined): Promise<NewEvents> {
  const found: JsonObject[] = [];
  for await (const event of newestFirst) {
    if (textIn(event, 'id') === last && last !== undefined) break;
    found.push(event);
  }
  const [newest] = found;
  return { events: found.reverse().flatMap(toEvent), last: (newest && textIn(newest, 'id')) ?? last };
}

function toEvent(event: JsonObject): readonly NewTrainingEvent[] {
  const { step, ...metrics } = numbersIn(objectIn(event, 'data'));
  if (event.type === 'metrics' && step !== undefined) return [{ type: 'metrics', step, metrics }];
  const message = textIn(event, 'message');
  if (message === undefined) return [];
  const level = event.level === 'error' ? 'error' : event.level === 'warn' ? 'warning' : 'info';
  return [{ type: 'log', level, message: shortText(message) }];
}

async function readCheckpoints(list: AsyncIterable<JsonObject>): Promise<readonly Checkpoint[]> {
  const found: Checkpoint[] = [];
  for await (const checkpoint of list) {
    const target = textIn(checkpoint, 'fine_tuned_model_checkpoint') ?? textIn(checkpoint, 'id');
    const step = numberIn(checkpoint, 'step_number');
    if (target === undefined || step === undefined || !Number.isInteger(step) || step < 0) continue;
    const { step: _, ...metrics } = numbersIn(objectIn(checkpoint, 'metrics'));
    found.push({ step, target, metrics });
  }
  return found;
}

const STATUSES: Readonly<Record<string, ProviderReport['status']>> = {
  validating_files: 'queued',
  queued: 'queued',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
};

function toReport(
  { name, deploy }: OpenAiOptions,
  job: JsonObject,
  { events, last }: NewEvents,
  checkpoints: readonly Checkpoint[],
): ProviderReport {
  const status = STATUSES[textIn(job, 'status') ?? ''] ?? 'training';
  const error = objectIn(job, 'error');
  const param = textIn(error, 'param');
  const isFile = param === 'training_file' || param === 'validation_file';
  const said = textIn(error, 'message') ?? 'it does not say why.';
  return {
    status,
    // Some servers give a model no name before its deployment, so the last checkpoint is used.
    target: textIn(job, 'fine_tuned_model') ?? (deploy && checkpoints.toSorted((a, b) => b.step - a.step)[0]?.target),
    checkpoints,
    events,
    ...(last === undefined ? {} : { remote: { _last_event: last } }),
    ...(status === 'failed' && {
      error: {
        code: isFile ? 'file_refused' : 'provider_failed',
        message: isFile
          ? `${name} refused the ${param === 'training_file' ? 'file for training' : 'file for validation'}: ${shortText(said)} The line counts in that file, and "sources.jsonl" beside it says which trace it is from.`
          : `${name} failed: ${shortText(said)} Start the job again; if it fails so once more, this sentence is for the provider.`,
      },
    }),
  };
}
