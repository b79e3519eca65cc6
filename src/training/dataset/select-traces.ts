import { createHash } from 'node:crypto';
import type { Json } from '../../contract/json.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { canonicalJson } from '../../evaluation/tasks/canonical-json.ts';
import { readTraces } from '../../store/traces/read-traces.ts';
import type { Candidate, TraceFacts } from './candidate.ts';
import { StepCounts } from './counts.ts';
import type { DatasetOptions, DatasetParts, DatasetRequest } from './dataset-request.ts';
import { argumentsOf, type SourceRow, selectRows } from './select-rows.ts';
import { rowReason, type SelectRules, traceReason } from './select-rules.ts';
import { readTasksOf, taskKeyOf } from './source-tasks.ts';

export interface SelectedTraces {
  readonly candidates: readonly Candidate[];
  readonly select: StepCounts;
  readonly deduplicate: StepCounts;
}

/**
 * Runs the steps `select` and `deduplicate` in one pass. Of traces with the same actions for the same task it keeps the
 * oldest. A trace takes a few hundred bytes of memory.
 */
export async function selectTraces(
  { database }: Pick<DatasetParts, 'database'>,
  request: DatasetRequest,
  { signal, onProgress }: DatasetOptions,
): Promise<SelectedTraces> {
  const { account, from } = request;
  const rules: SelectRules = { ...request, origin: 'filter' in from ? from.filter.origin : undefined };
  const select = new StepCounts('select');
  const deduplicate = new StepCounts('deduplicate');
  const candidates: Candidate[] = [];
  const seen = new Set<string>();
  for await (const rows of selectRows(database.scans, account, from, signal)) {
    const tasks = await readTasksOf(database.scans, rows);
    const facts = new Map<string, TraceFacts>();
    for (const row of rows) {
      const task = tasks.get(row.trace_id);
      const reason = rowReason(row, task, rules);
      if (reason === undefined)
        facts.set(row.trace_id, toFacts(row, task === undefined ? keyOf(row) : taskKeyOf(task)));
      else select.dropped(reason);
    }
    for await (const trace of readTraces(database.scans, [...facts.keys()], signal)) {
      const known = facts.get(trace.trace_id);
      if (known === undefined) continue;
      const reason = traceReason(trace, rules);
      if (reason !== undefined) {
        select.dropped(reason);
        continue;
      }
      select.kept();
      const did = `${known.taskKey}${hashOfDeeds(trace)}`;
      if (seen.has(did)) {
        deduplicate.dropped('duplicate');
        continue;
      }
      seen.add(did);
      deduplicate.kept();
      candidates.push(toCandidate(known, trace));
    }
    onProgress?.({ step: 'select', done: select.in });
  }
  return { candidates, select, deduplicate };
}

function toFacts(row: SourceRow, taskKey: string): TraceFacts {
  return {
    traceId: row.trace_id,
    createdAt: row.created_at,
    envName: row.env_name,
    scenarioName: row.scenario_name,
    evaluationId: row.evaluation_id,
    taskId: row.task_id,
    taskKey,
    reward: row.reward ?? 0,
  };
}

function keyOf(row: SourceRow): string {
  return taskKeyOf({ env: row.env_name, scenario: row.scenario_name, args: argumentsOf(row) });
}

/** Hash, in base64, of the actions of a trace: its calls with their arguments, and its answer. */
function hashOfDeeds({ steps, answer }: Trace): string {
  const calls = steps.flatMap(({ message }) =>
    message.tool_calls.map((call): Json => [call.name, call.raw_arguments ?? call.arguments]),
  );
  return createHash('sha256')
    .update(textOf([calls, answer]))
    .digest('base64');
}

/** Canonical JSON of a value. A text with a lone surrogate has no canonical form and is used as it is. */
function textOf(value: Json): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value);
  }
}

function toCandidate(facts: TraceFacts, trace: Trace): Candidate {
  return {
    ...facts,
    model: trace.model,
    modelCalls: trace.usage.model_calls,
    tokens: trace.usage.total_tokens,
    hasTools: trace.tools.length > 0,
  };
}
