import { isDeepStrictEqual } from 'node:util';
import type { Step } from '../../../contract/service/trace.ts';
import { sumUsage } from '../../../contract/service/usage.ts';
import { EXTENSION } from '../extension.ts';
import { toCount } from '../imported-trace.ts';
import type { Losses } from '../losses.ts';
import { countTotal } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import type { AtifStep, Trajectory } from './shapes.ts';

const TRAJECTORY_FIELDS = [
  ...['schema_version', 'session_id', 'trajectory_id', 'agent', 'steps', 'final_metrics', 'subagent_trajectories'],
  'extra',
];
const STEP_FIELDS = [
  ...['step_id', 'timestamp', 'source', 'message', 'model_name', 'reasoning_content', 'tool_calls', 'observation'],
  ...['metrics', 'llm_call_count', 'extra'],
];
const METRICS_FIELDS = [
  ...['prompt_tokens', 'completion_tokens', 'cached_tokens', 'cost_usd', 'prompt_token_ids', 'completion_token_ids'],
  ...['logprobs', 'extra'],
];
const TOTAL_FIELDS = [
  ...['total_prompt_tokens', 'total_completion_tokens', 'total_cached_tokens', 'total_cost_usd', 'total_steps'],
];

/**
 * Notes a loss for each field of a trajectory that a trace cannot hold, except its extra. @param path of the
 * trajectory; empty for the main one.
 */
export function loseFieldsOf(trajectory: Trajectory, path: string, losses: Losses): void {
  const { agent } = trajectory;
  loseOthers(trajectory, TRAJECTORY_FIELDS, path, losses);
  // The trace keeps the name and version of the main agent as metadata.
  const known = path === '' ? ['version'] : [];
  loseOthers(agent, ['name', 'model_name', 'tool_definitions', ...known], under(path, 'agent'), losses);
  const tools = Array.isArray(agent.tool_definitions) ? agent.tool_definitions : [];
  const unread = tools.length - toTools(tools).length;
  losses.add(under(path, 'agent.tool_definitions[]'), 'it is no definition of a function with a name', unread);
  loseOthers(trajectory.final_metrics, TOTAL_FIELDS, under(path, 'final_metrics'), losses);
}

/** Notes a loss for each field of a step that a trace cannot hold. @param path of the list of steps. */
export function loseFieldsOfStep(step: AtifStep, path: string, model: string | null | undefined, losses: Losses): void {
  loseOthers(step, STEP_FIELDS, path, losses);
  loseOthers(step.extra, [EXTENSION], `${path}.extra`, losses);
  loseOthers(step.metrics, METRICS_FIELDS, `${path}.metrics`, losses);
  loseOthers(step.metrics?.extra, ['reasoning_tokens'], `${path}.metrics.extra`, losses);
  for (const call of step.tool_calls ?? []) {
    const field = `${path}.tool_calls[]`;
    loseOthers(call, ['tool_call_id', 'function_name', 'arguments', 'extra'], field, losses);
    loseOthers(call.extra, [EXTENSION], `${field}.extra`, losses);
  }
  loseOthers(step.observation, ['results'], `${path}.observation`, losses);
  for (const result of step.observation?.results ?? []) {
    const field = `${path}.observation.results[]`;
    loseOthers(result, ['source_call_id', 'content', 'extra'], field, losses);
    loseOthers(result.extra, [EXTENSION], `${field}.extra`, losses);
  }
  if (step.model_name && model && step.model_name !== model) {
    losses.add(`${path}.model_name`, 'a conversation has one model');
  }
}

/**
 * Sets the tokens of a conversation from its trajectory's totals when its responses count none. A total that disagrees
 * is noted as a loss.
 */
export function countFinalMetrics(steps: readonly Step[], trajectory: Trajectory, path: string, losses: Losses): void {
  const { final_metrics: given } = trajectory;
  if (given === null || given === undefined) return;
  const total = {
    prompt_tokens: toCount(given.total_prompt_tokens),
    completion_tokens: toCount(given.total_completion_tokens),
    cached_tokens: toCount(given.total_cached_tokens),
    cost_usd: given.total_cost_usd ?? null,
  };
  const counted = sumUsage(steps.map(({ usage }) => usage));
  const isSame = isDeepStrictEqual(total, {
    prompt_tokens: counted.prompt_tokens,
    completion_tokens: counted.completion_tokens,
    cached_tokens: counted.cached_tokens,
    cost_usd: counted.cost_usd,
  });
  if (!isSame && !countTotal(steps, total)) {
    losses.add(under(path, 'final_metrics'), 'the steps count tokens of their own, and these are others');
  }
}

function under(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
