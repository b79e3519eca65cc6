import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DATASET_FILES, type DatasetManifest, datasetManifestSchema } from '../../../contract/service/dataset.ts';
import { UsageError } from '../../base/failure.ts';
import { print, printJson, printTable } from '../../base/terminal.ts';

export async function show(folder: string, { json }: { readonly json?: boolean }): Promise<void> {
  const manifest = await readManifest(folder);
  if (manifest === undefined) {
    throw new UsageError(
      `${folder} is no dataset: it has no ${DATASET_FILES.manifest}. "proctor dataset build" makes one.`,
    );
  }
  if (json) return printJson(manifest);
  printManifest(manifest, folder);
}

/** Undefined for a folder without a manifest. @throws UsageError for an invalid one. */
export async function readManifest(folder: string): Promise<DatasetManifest | undefined> {
  const path = join(folder, DATASET_FILES.manifest);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return datasetManifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new UsageError(`${path} is not the ${DATASET_FILES.manifest} of a dataset.`, { cause });
  }
}

export function printManifest(manifest: DatasetManifest, folder: string): void {
  const { lines, tasks, tokens, format, hash } = manifest;
  print(
    `${folder}: ${lines.train} lines of ${tasks.train} tasks to train on, ${lines.validation} of ${tasks.validation} to validate with`,
  );
  print(`Format ${format}, about ${tokens} tokens, hash ${hash}`);
  printTable([
    ['STEP', 'IN', 'OUT', 'DROPPED'],
    ...manifest.steps.map(({ step, in: before, out, dropped }) => [
      step,
      String(before),
      String(out),
      Object.entries(dropped)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(', '),
    ]),
  ]);
}
