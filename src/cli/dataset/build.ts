import { type Catalogue, createCatalogue } from '../../client/catalogue.ts';
import {
  type DatasetFormat,
  type DatasetSelectInput,
  type DatasetSource,
  datasetFilterSchema,
  datasetSelectSchema,
} from '../../contract/dataset.ts';
import { createTasksets } from '../../tasks/find-tasksets.ts';
import type { Taskset } from '../../tasks/taskset.ts';
import { buildDataset, type DatasetProgress } from '../../training/dataset/build-dataset.ts';
import { declaredTasksBy } from '../../training/dataset/declared-tasks.ts';
import { findEvaluation } from '../eval/find-evaluation.ts';
import { readTasksetAt, tasksetName } from '../eval/load-tasks.ts';
import { LOCAL } from '../eval/local-evaluations.ts';
import { evaluationsOf } from '../eval/open-evaluations.ts';
import { SilentFailure, UsageError } from '../failure.ts';
import { type Installation, openInstallation } from '../installation.ts';
import { listenForStop } from '../signals.ts';
import { note, printJson } from '../terminal.ts';
import { parseMoment } from '../traces/moments.ts';
import { printManifest } from './show.ts';

interface BuildOptions {
  readonly out: string;
  readonly format: DatasetFormat;
  readonly evaluation?: readonly string[];
  readonly filter?: readonly string[];
  readonly minReward?: number;
  readonly maxPerTask?: number;
  readonly choose?: string;
  readonly seed?: number;
  readonly validation?: number;
  readonly heldOut?: readonly string[];
  readonly split?: readonly string[];
  readonly includeReference?: boolean;
  readonly reasoning?: string;
  readonly json?: boolean;
}

/** Milliseconds between two lines of progress. */
const TELL_EVERY_MS = 2_000;

export async function build(options: BuildOptions): Promise<void> {
  const given = readSource(options);
  const select = readSelect(options);
  using stop = listenForStop();
  await using installation = await openInstallation();
  const from = await findSource(given, installation);
  const catalogue = createCatalogue(installation.environments);
  try {
    const heldOut = await readHeldOut(options.heldOut ?? [], catalogue, installation.directory, stop.signal);
    const manifest = await buildDataset(
      {
        database: installation.database,
        traces: installation.store,
        redactor: installation.redactor,
        declaredTasks: declaredTasksBy(catalogue),
      },
      { account: LOCAL, from, format: options.format, select, heldOut },
      options.out,
      { signal: stop.signal, onProgress: options.json === true ? undefined : progressLines() },
    );
    if (options.json) printJson(manifest);
    else printManifest(manifest, options.out);
    if (manifest.lines.train > 0) return;
    note('No trace is left to train on: the steps say why each was dropped.');
    throw new SilentFailure('empty');
  } finally {
    await catalogue.close();
  }
}

/** Evaluations may be named as for "proctor eval show"; the dataset has their ids. */
async function findSource(from: DatasetSource, installation: Installation): Promise<DatasetSource> {
  if (!('evaluations' in from)) return from;
  const evaluations = { ...evaluationsOf(installation), [Symbol.asyncDispose]: async () => {} };
  return { evaluations: await Promise.all(from.evaluations.map((name) => findEvaluation(name, evaluations))) };
}

function readSource({ evaluation = [], filter = [] }: BuildOptions): DatasetSource {
  if (evaluation.length > 0 && filter.length > 0) throw new UsageError('Give --evaluation or --filter, not both.');
  if (evaluation.length > 0) return { evaluations: [...evaluation] };
  if (filter.length === 0) {
    throw new UsageError('Say which traces: --evaluation <id>, or --filter env_name=<environment>.');
  }
  const given: Record<string, unknown> = {};
  const metadata: Record<string, string> = {};
  for (const pair of filter) {
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    if (at < 1) throw new UsageError(`--filter takes name=value, not ${JSON.stringify(pair)}.`);
    if (name.startsWith('metadata.')) metadata[name.slice('metadata.'.length)] = value;
    else given[name] = toFilterValue(name, value);
  }
  const wanted = { ...given, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
  const parsed = datasetFilterSchema.strict().safeParse(wanted);
  if (parsed.success) return { filter: parsed.data };
  const [issue] = parsed.error.issues;
  const names = Object.keys(datasetFilterSchema.shape).map((name) => (name === 'metadata' ? 'metadata.<key>' : name));
  if (issue?.code === 'unrecognized_keys') {
    throw new UsageError(`--filter knows no ${issue.keys.join(', ')}: there are ${names.join(', ')}.`);
  }
  throw new UsageError(`--filter ${issue?.path.join('.')}: ${issue?.message}.`);
}

function toFilterValue(name: string, value: string): unknown {
  if (name === 'min_reward' || name === 'max_reward') return value.trim() === '' ? value : Number(value);
  if (name === 'since' || name === 'until') return new Date(parseMoment(value)).toISOString();
  return value;
}

function readSelect({ minReward, maxPerTask, includeReference, split, ...options }: BuildOptions) {
  const { choose, seed, validation, reasoning } = options;
  const given = {
    ...{ min_reward: minReward, max_per_task: maxPerTask, include_reference: includeReference },
    ...{ choose, seed, validation, reasoning, splits: split === undefined ? undefined : [...split] },
  };
  const parsed = datasetSelectSchema.safeParse(given as DatasetSelectInput); // The schema says what is wrong with texts.
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const option = String(issue?.path[0] ?? '').replaceAll('_', '-');
  throw new UsageError(`--${option === 'splits' ? 'split' : option}: ${issue?.message}.`);
}

async function readHeldOut(
  names: readonly string[],
  catalogue: Catalogue,
  directory: string,
  signal: AbortSignal,
): Promise<readonly { readonly name: string; readonly tasks: Taskset['tasks'] }[]> {
  const heldOut: { name: string; tasks: Taskset['tasks'] }[] = [];
  for (const typed of names) {
    const name = tasksetName(typed);
    const tasksets = createTasksets({ directory, declared: catalogue });
    const { tasks } = (await readTasksetAt(typed, directory, signal)) ?? (await tasksets.load(name, signal));
    heldOut.push({ name, tasks });
  }
  return heldOut;
}

function progressLines(): (progress: DatasetProgress) => void {
  let toldAt = performance.now();
  return ({ step, done }) => {
    if (performance.now() - toldAt < TELL_EVERY_MS) return;
    toldAt = performance.now();
    note(`${step}: ${done} traces`);
  };
}
