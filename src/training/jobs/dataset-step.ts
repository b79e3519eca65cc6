import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { DATASET_FILES, type DatasetManifest } from '../../contract/service/dataset.ts';
import { makeFolder } from '../../support/runtime/make-folder.ts';
import { countText } from '../../support/text/figures.ts';
import { ProviderRefused, type TrainingProvider, type TrainingWork } from '../providers/provider.ts';
import { type Job, readJobTasks } from './job-rows.ts';
import type { StepParts } from './step-parts.ts';

type Files = Pick<TrainingWork, 'trainFile' | 'validationFile' | 'directory' | 'datasetHash'>;

/**
 * Opens the dataset of a job, and builds it first if it is missing: another machine may have started the job.
 *
 * @throws ProviderRefused data_changed when the traces no longer give the same dataset.
 */
export async function openDataset(
  parts: StepParts,
  job: Job,
  provider: TrainingProvider,
  signal: AbortSignal,
): Promise<Files & { readonly manifest: DatasetManifest }> {
  const directory = join(parts.directory, job.id);
  const folder = join(directory, 'dataset');
  await makeFolder(directory);
  // A folder with this name is complete.
  const isThere = job.dataset !== null && (await exists(join(folder, DATASET_FILES.manifest)));
  const manifest = isThere && job.dataset !== null ? job.dataset : await build(parts, job, folder, provider, signal);
  if (job.dataset !== null && job.dataset.hash !== manifest.hash) {
    throw new ProviderRefused(
      'data_changed',
      'The files of the dataset are not on this machine, and the traces that it was made from have changed since: start the job again.',
    );
  }
  return {
    manifest,
    directory,
    datasetHash: manifest.hash,
    trainFile: join(folder, DATASET_FILES.train),
    validationFile: manifest.lines.validation > 0 ? join(folder, DATASET_FILES.validation) : undefined,
  };
}

async function build(
  parts: StepParts,
  job: Job,
  folder: string,
  provider: TrainingProvider,
  signal: AbortSignal,
): Promise<DatasetManifest> {
  const { heldOut } = await readJobTasks(parts.database.kysely, job.id);
  const format = provider.format(job.request.method);
  return await parts.buildDataset(job, heldOut, folder, { signal, format });
}

/** @throws ProviderRefused for a dataset that the provider would refuse, before anything is sent. */
export function checkDataset({ dataset, request }: Job, provider: TrainingProvider): void {
  if (dataset === null) throw new Error('A dataset is checked before it is built');
  const { train, validation } = dataset.lines;
  if (train === 0) {
    throw new ProviderRefused(
      'dataset_empty',
      `There is nothing to learn from: ${describeSteps(dataset)} Choose other evaluations, or a lower min_reward.`,
    );
  }
  if (train < provider.minimumLines) {
    throw new ProviderRefused(
      'too_few_lines',
      `The dataset has ${countText(train, 'line')} for training, and ${request.provider} takes ${provider.minimumLines} at least: ${describeSteps(dataset)} Choose more runs, or a higher max_per_task${validation > 0 ? ', or a smaller share for validation' : ''}.`,
    );
  }
  const bytes = Math.max(dataset.bytes.train, dataset.bytes.validation);
  if (bytes > provider.maximumBytes) {
    throw new ProviderRefused(
      'file_too_large',
      `A file of the dataset has ${bytes} bytes, and ${request.provider} takes ${provider.maximumBytes} at most: choose fewer runs, or a lower max_per_task.`,
    );
  }
}

/** Describes every step that changed the number of lines, in one sentence. */
export function describeSteps({ steps, lines }: Pick<DatasetManifest, 'steps' | 'lines'>): string {
  const told = steps
    .filter((step) => step.in !== step.out)
    .map(({ step, in: before, out, dropped }) => {
      const reasons = Object.entries(dropped).map(([reason, number]) => `${reason.replaceAll('_', ' ')} ${number}`);
      return `${step} ${before} → ${out}${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`;
    });
  const lead = told.length === 0 ? '' : `${told.join('; ')}; `;
  return `${lead}${countText(lines.train, 'line')} for training, ${lines.validation} for validation.`;
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
