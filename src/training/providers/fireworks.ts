import type { JsonObject } from '../../contract/json.ts';
import { createFineTuningProvider, type FineTuningOptions } from './fine-tuning-provider.ts';
import { ProviderRefused, type ProviderReport, type TrainingProvider, type TrainingWork } from './provider.ts';
import { askProvider, type ProviderAddress } from './provider-http.ts';
import { numberIn, objectIn, objectsIn, shortText, textIn } from './wire-values.ts';

/** Largest number of pages that are read of a list. */
const MAX_PAGES = 50;

/**
 * The API of Fireworks: datasets and supervised fine-tuning jobs of an account. The URL contains the account:
 * `https://api.fireworks.ai/v1/accounts/<account>`. This side chooses the ids of datasets, and `displayName` holds the
 * id of the job.
 */
export function createFireworksProvider(options: FineTuningOptions): TrainingProvider {
  return createFineTuningProvider(options, {
    kind: 'fireworks',
    methods: ['supervised'],
    minimumLines: 3,
    maximumBytes: 150 * 1024 * 1024,
    format: () => 'openai',
    uploadFile: (work, part, path) => uploadDataset(options, work, part, path),
    findJob: (work) => findJob(options, work),
    createJob: (work) => create(options, work),
    toCancel: (work) => ({ path: `${jobPath(work)}:cancel`, json: {} }),
    poll: (work) => poll(options, work),
  });
}

function jobPath({ remote }: TrainingWork): string {
  return `/supervisedFineTuningJobs/${encodeURIComponent(remote.job ?? '')}`;
}

/** A Fireworks id for the job: lower-case letters, digits and hyphens. */
function ownId({ jobId }: TrainingWork): string {
  return jobId.replace('train_', 'proctor-');
}

async function uploadDataset(
  address: ProviderAddress,
  work: TrainingWork,
  part: 'train' | 'validation',
  path: string,
): Promise<void> {
  const key = `${part}_dataset`;
  const { signal } = work;
  if (work.remote[key] !== undefined) return;
  const datasetId = `${ownId(work)}-${part}`;
  const place = `/datasets/${datasetId}`;
  const known = await askProvider(address, { method: 'GET', path: place, signal, allowed: [404] });
  if (known.status === 404) {
    await work.stillMine();
    const dataset = { userUploaded: {}, displayName: `${work.jobId} ${part}` };
    await askProvider(address, { method: 'POST', path: '/datasets', json: { datasetId, dataset }, signal });
  }
  // A dataset in the state READY has its file already.
  if (known.body.state !== 'READY') {
    const form = { fields: {}, file: { path, name: `${datasetId}.jsonl` } };
    await askProvider(address, { method: 'POST', path: `${place}:upload`, form, signal });
  }
  await work.keep({ [key]: datasetId });
}

async function findJob(address: ProviderAddress, work: TrainingWork): Promise<string | undefined> {
  let pageToken: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { body } = await askProvider(address, {
      method: 'GET',
      path: '/supervisedFineTuningJobs',
      query: { pageSize: '200', ...(pageToken === undefined ? {} : { pageToken }) },
      signal: work.signal,
    });
    const jobs = objectsIn(body, 'supervisedFineTuningJobs');
    const found = jobs.find((job) => job.displayName === work.jobId);
    if (found !== undefined) return idOf(found);
    pageToken = textIn(body, 'nextPageToken');
    if (pageToken === undefined) return undefined;
  }
  return undefined;
}

/** The last part of `accounts/a/supervisedFineTuningJobs/<id>`. */
function idOf(job: JsonObject): string | undefined {
  return textIn(job, 'name')?.split('/').at(-1);
}

async function create(address: ProviderAddress, work: TrainingWork): Promise<string> {
  const { base, hyperparameters, remote } = work;
  const account = new URL(address.url).pathname.replace(/^.*\/(accounts\/[^/]+).*$/, '$1');
  const json: JsonObject = {
    displayName: work.jobId,
    dataset: `${account}/datasets/${remote.train_dataset}`,
    ...(remote.validation_dataset === undefined
      ? {}
      : { evaluationDataset: `${account}/datasets/${remote.validation_dataset}` }),
    baseModel: base,
    outputModel: `${account}/models/${ownId(work)}`,
    ...hyperparameters,
  };
  await work.stillMine();
  const path = '/supervisedFineTuningJobs';
  const { body } = await askProvider(address, { method: 'POST', path, json, signal: work.signal });
  const id = idOf(body);
  if (id === undefined)
    throw new ProviderRefused('provider_refused', `${address.name} made a job and gave it no name.`);
  return id;
}

const STATUSES: Readonly<Record<string, ProviderReport['status']>> = {
  JOB_STATE_CREATING: 'queued',
  JOB_STATE_PENDING: 'queued',
  JOB_STATE_VALIDATING: 'queued',
  JOB_STATE_COMPLETED: 'succeeded',
  JOB_STATE_FAILED: 'failed',
  JOB_STATE_FAILED_CLEANING_UP: 'failed',
  JOB_STATE_CANCELLED: 'cancelled',
  JOB_STATE_DELETING: 'cancelled',
};

async function poll(address: ProviderAddress, work: TrainingWork): Promise<ProviderReport> {
  const { body: job } = await askProvider(address, { method: 'GET', path: jobPath(work), signal: work.signal });
  const status = STATUSES[textIn(job, 'state') ?? ''] ?? 'training';
  const percent = numberIn(objectIn(job, 'jobProgress'), 'percent');
  const said = shortText(textIn(objectIn(job, 'status'), 'message') ?? 'it does not say why.');
  return {
    status,
    target: textIn(job, 'outputModel'),
    ...(percent === undefined ? {} : { progress: { done: percent, total: 100 } }),
    ...(status === 'failed' && {
      error: {
        code: objectIn(job, 'status').code === 'INVALID_ARGUMENT' ? 'file_refused' : 'provider_failed',
        message: `${address.name} failed: ${said} Mend that, and start the job again.`,
      },
    }),
  };
}
