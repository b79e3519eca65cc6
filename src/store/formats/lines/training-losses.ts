import type { Trace } from '../../../contract/service/trace.ts';
import { isMain } from '../is-main.ts';
import type { Losses } from '../losses.ts';

const WHY = 'a line holds what the model was sent and said, and nothing beside it';

/** Notes as losses the fields of a trace that no training line holds: everything except its conversation. */
export function noteTrainingLosses(trace: Trace, losses: Losses): void {
  for (const field of FIELDS) if (isThere(trace[field])) losses.add(field, WHY);
  for (const { opening, user } of trace.turns) {
    for (const reply of [opening, user]) if (reply !== undefined) losses.add('turns[].user', WHY);
  }
  losses.add(
    'steps[].branch',
    'a line is the main conversation alone',
    trace.steps.filter((step) => !isMain(step)).length,
  );
  for (const step of trace.steps.filter(isMain)) {
    for (const field of STEP_FIELDS) if (isThere(step[field])) losses.add(`steps[].${field}`, WHY);
    for (const result of step.tool_results) {
      losses.add('steps[].tool_results[].duration_ms', WHY);
      if (result.is_error) losses.add('steps[].tool_results[].is_error', 'no message says that a call failed');
      const isShown = !result.content.some(({ type }) => type === 'text');
      if (result.structured_content !== null && !isShown) losses.add('steps[].tool_results[].structured_content', WHY);
    }
  }
}

const FIELDS = [
  ...(['trace_id', 'status', 'stop_reason', 'outcome', 'agent', 'model_target', 'answer', 'parent', 'replay'] as const),
  ...(['grades', 'judgements', 'tool_calls', 'ledger'] as const),
  ...(['origin', 'evaluation_id', 'task_id', 'attempt_index', 'attempts', 'env_name', 'scenario_name'] as const),
  ...(['scenario_args', 'model', 'max_steps', 'seed', 'sampling', 'metadata', 'versions', 'created_at'] as const),
  ...(['started_at', 'finished_at', 'reward', 'evaluation', 'usage', 'timing', 'error', 'logs', 'sandboxes'] as const),
];

const STEP_FIELDS = [
  ...(['started_at', 'model_ms', 'finish_reason', 'usage', 'token_ids', 'logprobs', 'retries'] as const),
  ...(['input', 'compacted', 'repeated'] as const),
];

function isThere(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
