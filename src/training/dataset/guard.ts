import { ApiError } from '../../contract/errors.ts';
import { preview } from '../../support/schema/json-schema.ts';
import { countText } from '../../support/text/figures.ts';
import type { Candidate, ChosenLine } from './candidate.ts';
import type { DatasetOptions, DatasetParts, DatasetRequest } from './dataset-request.ts';
import { findHeldOut } from './held-out-tasks.ts';
import { isHeldOut, readHeldOutTasks } from './source-tasks.ts';

/** Largest number of ids in an error message. */
const MAX_NAMED = 20;

/**
 * Refuses a dataset with a task that must not be trained on: a task that is held out or of the split `test`, in its
 * evaluation or in its scenario's declaration, or a task of a held-out taskset. Tasks are compared by environment,
 * scenario and arguments with their defaults, not by id.
 *
 * @throws ApiError `held_out_task` with at most 20 ids.
 */
export async function guardLines(
  parts: DatasetParts,
  { heldOut, from }: DatasetRequest,
  lines: readonly ChosenLine[],
  { signal }: Pick<DatasetOptions, 'signal'>,
): Promise<void> {
  const { database, declaredTasks } = parts;
  const traces = lines.flatMap(({ trace, rejected }) => (rejected === undefined ? [trace] : [trace, rejected]));
  const evaluations = new Set(traces.flatMap(({ evaluationId }) => evaluationId ?? []));
  if ('evaluations' in from) for (const id of from.evaluations) evaluations.add(id);
  const forbidden = [...(await readHeldOutTasks(database.scans, [...evaluations]))];
  for (const { tasks } of heldOut) for (const task of tasks) forbidden.push(task);
  if (declaredTasks !== undefined) {
    for (const [env, scenario] of outsideEvaluations(traces)) {
      for (const task of await declaredTasks(env, scenario, signal)) {
        if (isHeldOut(task)) forbidden.push(task);
      }
    }
  }
  const found = await findHeldOut(parts, traces, forbidden, signal);
  // Sorted by name, because the attempts of an evaluation come in any order.
  const ids = [...new Set(found.map(({ trace, taskId }) => trace.taskId ?? taskId))].sort();
  if (ids.length > 0) throw heldOutTasks(ids);
}

/** The scenarios of traces outside of evaluations. */
function outsideEvaluations(traces: readonly Candidate[]): readonly (readonly [env: string, scenario: string])[] {
  const found = new Map<string, readonly [string, string]>();
  for (const { evaluationId, envName, scenarioName } of traces) {
    if (evaluationId === null) found.set(`${envName}\n${scenarioName}`, [envName, scenarioName]);
  }
  return [...found.values()];
}

function heldOutTasks(ids: readonly string[]): ApiError {
  const named = ids.slice(0, MAX_NAMED).map((id) => preview(id));
  const more = ids.length > named.length ? `, and ${ids.length - named.length} more` : '';
  const tasks = countText(ids.length, 'task is', 'tasks are');
  return new ApiError(
    'held_out_task',
    `${tasks} held out or of the split test, and nothing is trained on those: ${named.join(', ')}${more}. ` +
      'Leave them out: take evaluations without them, or only tasks of the split train (--split train; select.splits of a request).',
    { param: 'from' },
  );
}
