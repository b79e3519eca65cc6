import type { Task } from '../../contract/task.ts';
import { withDefaults } from '../../support/schema/json-schema.ts';
import type { Candidate } from './candidate.ts';
import type { DatasetParts } from './dataset-request.ts';
import { argumentsOf, ROWS_AT_ONCE, readRows } from './select-rows.ts';
import { shortNameOf, taskKeyOf } from './source-tasks.ts';

/** A trace whose task must not be trained on. */
export interface HeldOutTrace {
  readonly trace: Candidate;
  /** Id of the task that it equals. */
  readonly taskId: string;
}

/**
 * Finds the traces of forbidden tasks. Tasks are compared by environment, scenario and arguments, as they were given
 * and with the defaults of the scenario's schema filled in. Without a schema, as for an environment that is no longer
 * known, arguments are compared as they were given.
 */
export async function findHeldOut(
  parts: Pick<DatasetParts, 'database' | 'argsSchema'>,
  traces: readonly Candidate[],
  forbidden: readonly Task[],
  signal: AbortSignal,
): Promise<readonly HeldOutTrace[]> {
  const byKey = idsByKey(forbidden);
  const found = new Map<string, HeldOutTrace>();
  const keep = (trace: Candidate, taskId: string | undefined) => {
    if (taskId !== undefined) found.set(trace.traceId, { trace, taskId });
  };
  for (const trace of traces) keep(trace, byKey.get(trace.taskKey));
  for (const tasks of groupBy(forbidden, scenarioOf).values()) {
    const [{ env, scenario } = NO_TASK] = tasks;
    const short = shortNameOf({ env, scenario });
    const played = traces.filter(
      ({ traceId, envName, scenarioName }) => envName === env && scenarioName === short && !found.has(traceId),
    );
    if (played.length === 0) continue;
    const schema = await parts.argsSchema?.(env, short, signal);
    if (schema === undefined || !JSON.stringify(schema).includes('"default"')) continue;
    const filled = idsByKey(tasks.map((task) => ({ ...task, args: withDefaults(schema, task.args) })));
    for (let at = 0; at < played.length; at += ROWS_AT_ONCE) {
      signal.throwIfAborted();
      const batch = played.slice(at, at + ROWS_AT_ONCE);
      const rows = await readRows(
        parts.database.scans,
        batch.map(({ traceId }) => traceId),
      );
      const argsOf = new Map(rows.map((row) => [row.trace_id, argumentsOf(row)]));
      for (const trace of batch) {
        const args = withDefaults(schema, argsOf.get(trace.traceId) ?? {});
        keep(trace, filled.get(taskKeyOf({ env, scenario: short, args })));
      }
    }
  }
  return [...found.values()];
}

const NO_TASK = { env: '', scenario: '' };

function idsByKey(tasks: readonly Pick<Task, 'id' | 'env' | 'scenario' | 'args'>[]): ReadonlyMap<string, string> {
  return new Map(tasks.map((task) => [taskKeyOf(task), task.id]));
}

function scenarioOf(task: Task): string {
  return `${task.env}\n${shortNameOf(task)}`;
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
