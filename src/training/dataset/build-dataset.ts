import type { DatasetManifest, DatasetStepName } from '../../contract/service/dataset.ts';
import { findEvaluation } from '../../evaluation/evaluations/evaluation-rows.ts';
import { choosePairs, chooseTraces } from './choose.ts';
import { StepCounts } from './counts.ts';
import { withDatasetFolder } from './dataset-folder.ts';
import type { DatasetOptions, DatasetParts, DatasetPlan, DatasetRequest } from './dataset-request.ts';
import { guardLines } from './guard.ts';
import { selectTraces } from './select-traces.ts';
import { splitLines } from './split.ts';
import { writeDataset } from './write-dataset.ts';

export type { DatasetOptions, DatasetParts, DatasetPlan, DatasetRequest } from './dataset-request.ts';

/** Checks that the evaluations of a source exist. @throws ApiError evaluation_not_found */
export async function findSource(
  { database }: Pick<DatasetParts, 'database'>,
  { from, account }: Pick<DatasetRequest, 'from' | 'account'>,
): Promise<void> {
  if (!('evaluations' in from)) return;
  for (const id of from.evaluations) await findEvaluation(database.kysely, account, id, 'from.evaluations');
}

/**
 * Runs all steps before rendering: select, deduplicate, choose, split and guard. It writes nothing.
 *
 * @throws ApiError `held_out_task` with at most 20 ids; `evaluation_not_found`; the reason of the signal.
 */
export async function planDataset(
  parts: DatasetParts,
  request: DatasetRequest,
  options: DatasetOptions,
): Promise<DatasetPlan> {
  const { select, format } = request;
  await findSource(parts, request);
  const selected = await selectTraces(parts, request, options);
  const choose = new StepCounts('choose');
  const isPairs = format === 'openai-dpo';
  const chosen = isPairs
    ? choosePairs(selected.candidates, select, choose)
    : chooseTraces(selected.candidates, select, choose);
  const lines = splitLines(chosen, select);
  await guardLines(parts, request, chosen, options);
  const passed = (step: DatasetStepName) => ({ step, in: chosen.length, out: chosen.length, dropped: {} });
  const counts = [selected.select, selected.deduplicate, choose].map((each) => each.toCounts());
  return { request, steps: [...counts, passed('split'), passed('guard')], lines };
}

/**
 * Writes a dataset: `train.jsonl`, `validation.jsonl`, `sources.jsonl`, `dataset.json` and `dataset.md`. It writes into
 * a temporary folder beside `folder` and renames that at the end, so that an existing folder is always complete. An
 * existing folder is replaced if it is a dataset or empty. The same traces and request give the same bytes.
 *
 * A dataset may have no lines. A caller that trains on it has to check `lines`.
 *
 * @throws as `planDataset`; Error for a folder with any other content.
 */
export async function buildDataset(
  parts: DatasetParts,
  request: DatasetRequest,
  folder: string,
  options: DatasetOptions,
): Promise<DatasetManifest> {
  return await withDatasetFolder(folder, async (path) => {
    const plan = await planDataset(parts, request, options);
    return await writeDataset(parts, plan, path, options);
  });
}
