import type { JsonObject } from '../../contract/json.ts';
import type { NewTrainingEvent } from '../../contract/service/training.ts';
import { createFineTuningProvider, type FineTuningOptions } from './fine-tuning-provider.ts';
import { fileName } from './openai.ts';
import { ProviderRefused, type ProviderReport, type TrainingProvider, type TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress } from './provider-http.ts';
import { numberIn, numbersIn, objectIn, objectsIn, shortText, textIn } from './wire-values.ts';

/**
 * The API of Together's files and fine-tunes. It has no metadata, so file names and suffix contain the id of the job.
 */
export function createTogetherProvider(options: FineTuningOptions): TrainingProvider {
  return createFineTuningProvider(options, {
    kind: 'together',
    methods: ['supervised', 'dpo'],
    minimumLines: 10,
    maximumBytes: 5 * 1024 * 1024 * 1024,
    format: (method) => (method === 'dpo' ? 'openai-dpo' : 'openai'),
    uploadFile: (work, part, path) => uploadFile(options, work, part, path),
    findJob: (work) => findJob(options, work),
    createJob: (work) => create(options, work),
    toCancel: (work) => ({ path: `${jobPath(work)}/cancel` }),
    poll: (work) => poll(options, work),
  });
}

function jobPath({ remote }: TrainingWork): string {
  return `/fine-tunes/${encodeURIComponent(remote.job ?? '')}`;
}

/** Uploads a file: Together returns the address of its store, takes the bytes there, and checks them afterwards. */
async function uploadFile(
  address: ProviderAddress,
  work: TrainingWork,
  part: 'train' | 'validation',
  path: string,
): Promise<void> {
  const key = `${part}_file`;
  const name = fileName(work, part);
  const { signal } = work;
  if (work.remote[key] !== undefined) return;
  const { body } = await askProvider(address, { method: 'GET', path: '/files', signal });
  const known = objectsIn(body, 'data').find((file) => textIn(file, 'filename') === name && file.Processed !== false);
  const knownId = known && textIn(known, 'id');
  if (knownId !== undefined) return await work.keep({ [key]: knownId });
  await work.stillMine();
  const query = { file_name: name, file_type: 'jsonl', purpose: 'fine-tune' };
  const begun = await askProvider(address, { method: 'POST', path: '/files', query, signal, allowed: [302] });
  const [id, store] = [begun.headers.get('x-together-file-id'), begun.headers.get('location')];
  if (id === null || store === null || !URL.canParse(store)) {
    throw new ProviderRefused('provider_refused', `${address.name} gave no address to send the file ${name} to.`);
  }
  await askProvider(address, { method: 'PUT', path: store, file: path, signal });
  // Together's Python client calls this route and its npm client does not. If the route is missing, the call is not
  // needed.
  const preprocessing = `/files/${encodeURIComponent(id)}/preprocess`;
  await askProvider(address, { method: 'POST', path: preprocessing, signal, allowed: [404, 405] });
  await work.keep({ [key]: id });
}

/** A suffix with the job's id. Together allows 64 characters. */
function suffixOf({ jobId }: TrainingWork): string {
  return jobId.replace('train_', 'proctor-');
}

async function findJob(address: ProviderAddress, work: TrainingWork): Promise<string | undefined> {
  const { body } = await askProvider(address, { method: 'GET', path: '/fine-tunes', signal: work.signal });
  const suffix = suffixOf(work);
  const found = objectsIn(body, 'data').find(
    (job) =>
      job.suffix === suffix ||
      textIn(job, 'model_output_name')?.includes(suffix) === true ||
      (work.remote.train_file !== undefined && job.training_file === work.remote.train_file),
  );
  return found && textIn(found, 'id');
}

async function create(address: ProviderAddress, work: TrainingWork): Promise<string> {
  const { base, method, hyperparameters, remote } = work;
  const { dpo_beta, train_on_inputs, lora, ...others } = hyperparameters;
  const json: JsonObject = {
    model: base,
    training_file: remote.train_file ?? '',
    ...(remote.validation_file === undefined ? {} : { validation_file: remote.validation_file }),
    suffix: suffixOf(work),
    training_method:
      method === 'dpo'
        ? { method: 'dpo', ...(dpo_beta === undefined ? {} : { dpo_beta }) }
        : { method: 'sft', train_on_inputs: train_on_inputs ?? false },
    ...(lora === false ? { training_type: { type: 'Full' } } : {}),
    ...others,
  };
  await work.stillMine();
  const { body } = await askProvider(address, { method: 'POST', path: '/fine-tunes', json, signal: work.signal });
  const id = textIn(body, 'id');
  if (id === undefined) throw new ProviderRefused('provider_refused', `${address.name} made a job and gave it no id.`);
  return id;
}

const STATUSES: Readonly<Record<string, ProviderReport['status']>> = {
  pending: 'queued',
  queued: 'queued',
  cancelled: 'cancelled',
  error: 'failed',
  user_error: 'failed',
  completed: 'succeeded',
};

async function poll(address: ProviderAddress, work: TrainingWork): Promise<ProviderReport> {
  const { signal, remote } = work;
  const path = jobPath(work);
  const read = async (part: string) =>
    (await askProvider(address, { method: 'GET', path: `${path}${part}`, signal, allowed: [404] })).body;
  const { body: job } = await askProvider(address, { method: 'GET', path, signal });
  const events = [...objectsIn(await read('/events'), 'data')].sort((a, b) => timeOf(a) - timeOf(b));
  const metrics = objectsIn(await read('/metrics'), 'metrics');
  const checkpoints = objectsIn(await read('/checkpoints'), 'data');
  const [seenEvents, seenMetrics] = [Number(remote._events ?? 0), Number(remote._metrics ?? 0)];
  const status = STATUSES[textIn(job, 'status') ?? ''] ?? 'training';
  return {
    status,
    target: textIn(job, 'model_output_name'),
    checkpoints: checkpoints.flatMap((checkpoint) => {
      const [step, target] = [numberIn(checkpoint, 'step'), textIn(checkpoint, 'path')];
      return step === undefined || target === undefined ? [] : [{ step: Math.round(step), target, metrics: {} }];
    }),
    events: [...events.slice(seenEvents).flatMap(toLog), ...metrics.slice(seenMetrics).flatMap(toMetrics)],
    remote: { _events: String(events.length), _metrics: String(metrics.length) },
    ...progressOf(job),
    ...(status === 'failed' && { error: toError(address.name, job, events) }),
  };
}

function toLog(event: JsonObject): readonly NewTrainingEvent[] {
  const message = textIn(event, 'message');
  if (message === undefined) return [];
  const level = textIn(event, 'level') ?? '';
  const isLimit = event.type === 'billing_limit';
  const kind = level.endsWith('error') ? 'error' : isLimit || level.endsWith('warning') ? 'warning' : 'info';
  return [{ type: 'log', level: kind, message: shortText(message) }];
}

function toMetrics(row: JsonObject): readonly NewTrainingEvent[] {
  const numbers = numbersIn(row);
  const step = numbers.step ?? numbers.global_step ?? numbers['train/global_step'];
  return step === undefined ? [] : [{ type: 'metrics', step, metrics: numbers }];
}

function progressOf(job: JsonObject): Pick<ProviderReport, 'progress'> {
  const [done, total] = [numberIn(job, 'epochs_completed'), numberIn(job, 'n_epochs')];
  return done === undefined || total === undefined ? {} : { progress: { done, total } };
}

function toError(name: string, job: JsonObject, events: readonly JsonObject[]): NonNullable<ProviderReport['error']> {
  const limit = events.findLast(({ type }) => type === 'billing_limit');
  if (limit !== undefined) {
    const said = shortText(textIn(limit, 'message') ?? 'a limit of the account is reached.');
    return {
      code: 'billing_limit',
      message: `${name} does not pay for it: ${said} Raise the limit there, and start the job again.`,
    };
  }
  const last = events.findLast(({ type }) => type === 'job_error') ?? events.at(-1) ?? objectIn(job, 'error');
  const said = shortText(textIn(last, 'message') ?? 'it does not say why.');
  const isOurs = job.status === 'user_error';
  return {
    code: isOurs ? 'file_refused' : 'provider_failed',
    message: isOurs
      ? `${name} refused the job: ${said}`
      : `${name} failed: ${said} Start the job again; if it fails so once more, this sentence is for the provider.`,
  };
}

function timeOf(event: JsonObject): number {
  return Date.parse(textIn(event, 'created_at') ?? '') || 0;
}
