import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { DATASET_FILES, type DatasetPart, datasetBuildSchema } from '../../../contract/service/dataset.ts';
import { EVALUATION_LIMITS } from '../../../contract/task.ts';
import type { Catalogue } from '../../../environment/client/catalogue.ts';
import type { Tasksets } from '../../../evaluation/tasks/find-tasksets.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { asField } from '../../../support/http/api/errors.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import type { SendEvent, WorkStreams } from '../../../support/http/work-streams.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import {
  buildDataset,
  type DatasetParts,
  type DatasetRequest,
  findSource,
} from '../../../training/dataset/build-dataset.ts';
import { declaredBy } from '../../../training/dataset/declared-tasks.ts';

export interface DatasetsRouteOptions {
  readonly datasets: Omit<DatasetParts, 'declaredTasks' | 'argsSchema'>;
  readonly catalogue: Catalogue;
  readonly tasksets: Tasksets;
  readonly works: WorkStreams;
}

/** Bytes of file content in one event. */
const PIECE_BYTES = 256 * 1_024;
/** Builds a dataset of traces of the caller's account, and sends its files. */
export function createDatasetsRoute(options: DatasetsRouteOptions): Route {
  const { catalogue, tasksets, works } = options;
  const parts: DatasetParts = { ...options.datasets, ...declaredBy(catalogue) };
  return defineRoute({
    method: 'POST',
    path: '/v1/datasets',
    summary: 'Make files to train on out of runs that went well: the answer has progress, the files, and the manifest',
    access: 'key-or-browser',
    request: datasetBuildSchema,
    largeBodyBytes: EVALUATION_LIMITS.bodyBytes,
    about: {
      contentType: 'text/event-stream',
      errors: ['missing_required_parameter', 'evaluation_not_found', 'taskset_not_found', 'held_out_task'],
    },
    async handle({ requestId, body: { from, format, select, held_out: given }, caller, signal: gone }) {
      const account = accountOf(caller);
      await findSource(parts, { account, from });
      const heldOut = await asField('held_out', () => readHeldOut(given, tasksets, works.endedBy(gone)));
      const request = { account, from, format, select, heldOut };
      return await works.stream<DatasetPart>({ requestId, signal: gone }, (send, signal) =>
        sendDataset(parts, request, send, signal),
      );
    },
  });
}

/** @throws ApiError for an unknown taskset, and for tasks that cannot be read. */
async function readHeldOut(
  given: z.output<typeof datasetBuildSchema>['held_out'],
  tasksets: Tasksets,
  signal: AbortSignal,
): Promise<DatasetRequest['heldOut']> {
  const heldOut: DatasetRequest['heldOut'][number][] = [];
  for (const each of given) {
    if (typeof each !== 'string') heldOut.push(each);
    else heldOut.push({ name: each, tasks: (await tasksets.load(each, signal)).tasks });
  }
  return heldOut;
}

async function sendDataset(
  parts: DatasetParts,
  request: DatasetRequest,
  send: SendEvent<DatasetPart>,
  signal: AbortSignal,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'proctor-dataset-'));
  try {
    const folder = join(directory, 'dataset');
    let toldAt = performance.now();
    const manifest = await buildDataset(parts, request, folder, {
      signal,
      onProgress(progress) {
        if (performance.now() - toldAt < PERIODS_MS.datasetProgress) return;
        toldAt = performance.now();
        // The next send reports the failure.
        send({ type: 'progress', ...progress }).catch(() => {});
      },
    });
    for (const file of Object.values(DATASET_FILES)) {
      const pieces = createReadStream(join(folder, file), { encoding: 'utf8', highWaterMark: PIECE_BYTES });
      for await (const text of pieces) await send({ type: 'file', file, text });
    }
    await send({ type: 'dataset', manifest });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
