import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DATASET_FILES,
  type DatasetBuildInput,
  type DatasetFormat,
  type DatasetManifest,
  type DatasetPart,
  type DatasetSource,
  datasetFilterSchema,
  datasetManifestSchema,
  datasetSelectSchema,
} from '../../../contract/service/dataset.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { withDatasetFolder } from '../../../training/dataset/dataset-folder.ts';
import { SilentFailure, UsageError } from '../../base/failure.ts';
import { findEvaluation } from '../../base/find-evaluation.ts';
import { readTasksetAt, tasksetName } from '../../base/load-tasks.ts';
import { parseMoment } from '../../base/moments.ts';
import { openPlace } from '../../base/place.ts';
import { listenForStop } from '../../base/signals.ts';
import { note, printJson } from '../../base/terminal.ts';
import { parseFields } from '../parse-fields.ts';
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
  readonly service?: string;
  readonly json?: boolean;
}

export async function build(options: BuildOptions): Promise<void> {
  const given = readSource(options);
  const select = readSelect(options);
  const { format, out, json = false } = options;
  using stop = listenForStop();
  const held_out = await readHeldOut(options.heldOut ?? [], stop.signal);
  await using place = await openPlace({ service: options.service });
  const { client } = place;
  const find = (named: string) => findEvaluation(named, { client: client.evaluations, service: place.service });
  // Evaluations may be named as in `proctor eval show`; the dataset stores their ids.
  const from = 'filter' in given ? given : { evaluations: await Promise.all(given.evaluations.map(find)) };
  const parts = () => client.datasets.build({ from, format, select, held_out }, { signal: stop.signal });
  const tell = (manifest: DatasetManifest) => (json ? printJson(manifest) : printManifest(manifest, out));
  const manifest = await withDatasetFolder(out, async (folder) => {
    const written = await writeParts(parts(), folder, json);
    if (written.lines.train > 0) return written;
    tell(written);
    note('No trace is left to train on, so nothing was written: the steps say why each was dropped.');
    throw new SilentFailure();
  });
  tell(manifest);
}

async function writeParts(
  parts: AsyncGenerator<DatasetPart, void>,
  folder: string,
  isQuiet: boolean,
): Promise<DatasetManifest> {
  const files: Readonly<Record<string, FileHandle>> = Object.fromEntries(
    await Promise.all(Object.values(DATASET_FILES).map(async (name) => [name, await open(join(folder, name), 'w')])),
  );
  let toldAt = performance.now();
  try {
    for await (const part of parts) {
      if (part.type === 'dataset') return datasetManifestSchema.parse(part.manifest);
      if (part.type === 'file') await files[part.file]?.write(part.text);
      else if (!isQuiet && performance.now() - toldAt >= PERIODS_MS.datasetLines) {
        toldAt = performance.now();
        note(`${part.step}: ${part.done} traces`);
      }
    }
    throw new Error('The service sent no manifest of the dataset.');
  } finally {
    await Promise.all(Object.values(files).map((file) => file.close()));
  }
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
    if (at < 1 || /^(metadata\.)?__proto__$/.test(name)) {
      throw new UsageError(`--filter takes name=value, not ${JSON.stringify(pair)}.`);
    }
    if (name.startsWith('metadata.')) metadata[name.slice('metadata.'.length)] = value;
    else given[name] = toFilterValue(name, value);
  }
  const wanted = { ...given, ...(Object.keys(metadata).length > 0 ? { metadata } : {}) };
  const names = Object.keys(datasetFilterSchema.shape);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  if (unknown.length === 0) return { filter: parseFields(datasetFilterSchema, wanted, (field) => `--filter ${field}`) };
  const known = names.map((name) => (name === 'metadata' ? 'metadata.<key>' : name));
  throw new UsageError(`--filter knows no ${unknown.join(', ')}: there are ${known.join(', ')}.`);
}

function toFilterValue(name: string, value: string): unknown {
  if (name === 'min_reward' || name === 'max_reward') {
    return value.trim() === '' || !Number.isFinite(Number(value)) ? value : Number(value);
  }
  if (name === 'since' || name === 'until') return new Date(parseMoment(value)).toISOString();
  return value;
}

function readSelect({ minReward, maxPerTask, includeReference, split, ...options }: BuildOptions) {
  const { choose, seed, validation, reasoning } = options;
  const given = {
    min_reward: minReward,
    max_per_task: maxPerTask,
    include_reference: includeReference,
    choose,
    seed,
    validation,
    reasoning,
    splits: split === undefined ? undefined : [...split],
  };
  return parseFields(datasetSelectSchema, given, (field) => {
    const [name = ''] = field.split('.');
    return `--${name === 'splits' ? 'split' : name.replaceAll('_', '-')}`;
  });
}

/** Reads the tasks of local files. Other names are tasksets of the service. */
async function readHeldOut(
  names: readonly string[],
  signal: AbortSignal,
): Promise<NonNullable<DatasetBuildInput['held_out']>> {
  const heldOut: NonNullable<DatasetBuildInput['held_out']> = [];
  for (const typed of names) {
    const name = tasksetName(typed);
    const file = await readTasksetAt(typed, process.cwd(), signal);
    heldOut.push(file === undefined ? name : { name, tasks: [...file.tasks] });
  }
  return heldOut;
}
