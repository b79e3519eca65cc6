import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import { TRL_RULES } from './chat-rules.ts';
import { checkTools } from './check-tools.ts';
import type { Problems } from './line-problem.ts';

/** Known fields of each object of ATIF. Only `extra`, arguments and tool definitions may have other fields. */
const FIELDS = {
  line: [
    ...['schema_version', 'session_id', 'trajectory_id', 'agent', 'steps', 'final_metrics', 'notes', 'extra'],
    ...['continued_trajectory_ref', 'subagent_trajectories'],
  ],
  agent: ['name', 'version', 'model_name', 'tool_definitions', 'extra'],
  step: [
    ...['step_id', 'timestamp', 'source', 'message', 'model_name', 'reasoning_effort', 'reasoning_content', 'extra'],
    ...['tool_calls', 'observation', 'metrics', 'llm_call_count', 'is_copied_context'],
  ],
  call: ['tool_call_id', 'function_name', 'arguments', 'extra'],
  observation: ['results'],
  result: ['source_call_id', 'content', 'subagent_trajectory_ref', 'extra'],
  metrics: [
    ...['prompt_tokens', 'completion_tokens', 'cached_tokens', 'cost_usd', 'prompt_token_ids', 'extra'],
    ...['completion_token_ids', 'logprobs'],
  ],
} as const;

/** Fields that only steps of the agent may have. */
const OF_AGENT = ['model_name', 'reasoning_effort', 'reasoning_content', 'tool_calls', 'metrics'] as const;
const SOURCES: ReadonlySet<Json | undefined> = new Set(['system', 'user', 'agent']);

/** Checks a trajectory and its sub-trajectories like Harbor's models, and that at least one step can be learned. */
export function checkTrajectory(line: JsonObject, problems: Problems, path = ''): void {
  refuseOthers(line, path, FIELDS.line, problems);
  const { schema_version: version, agent, steps } = line;
  const at = (field: string) => (path === '' ? field : `${path}.${field}`);
  if (typeof version !== 'string' || !/^ATIF-v1\.\d+$/.test(version)) {
    problems.error(
      'schema_version',
      at('schema_version'),
      `has to be "ATIF-v1.8", or another of 1, got ${preview(version)}`,
    );
  }
  checkAgent(agent, at('agent'), problems);
  if (!Array.isArray(steps) || steps.length === 0) {
    problems.error('steps', at('steps'), `has to be a list of steps, got ${preview(steps)}`);
    return;
  }
  for (const [index, step] of steps.entries()) checkStep(step, index, at(`steps.${index}`), problems);
  if (path === '' && !steps.some(isLearned)) {
    problems.error('nothing_trained', 'steps', 'has no step of the agent that is trained on');
  }
  if (line.subagent_trajectories === undefined || line.subagent_trajectories === null) return;
  for (const [index, branch] of listAt(line, 'subagent_trajectories', path, problems).entries()) {
    const place = at(`subagent_trajectories.${index}`);
    if (path !== '' || !isJsonObject(branch) || typeof branch.trajectory_id !== 'string') {
      problems.error('branch', place, 'has to be a trajectory with a trajectory_id, and without others in it');
    } else checkTrajectory(branch, problems, place);
  }
}

function isLearned(step: Json): boolean {
  if (!isJsonObject(step) || step.source !== 'agent' || step.llm_call_count === 0) return false;
  const own = isJsonObject(step.extra) ? step.extra.proctor : undefined;
  return !isJsonObject(own) || own.weight !== 0;
}

function checkAgent(agent: Json | undefined, path: string, problems: Problems): void {
  if (!isJsonObject(agent) || typeof agent.name !== 'string' || typeof agent.version !== 'string') {
    problems.error('agent', path, `has to be {name, version}, got ${preview(agent)}`);
    return;
  }
  refuseOthers(agent, path, FIELDS.agent, problems);
  const { tool_definitions: tools } = agent;
  const hasNone = tools === null || (Array.isArray(tools) && tools.length === 0);
  if (!hasNone) checkTools(tools, `${path}.tool_definitions`, TRL_RULES, problems);
}

function checkStep(step: Json, index: number, path: string, problems: Problems): void {
  if (!isJsonObject(step) || !SOURCES.has(step.source)) {
    const source = isJsonObject(step) ? step.source : step;
    problems.error('source', `${path}.source`, `has to be system, user or agent, got ${preview(source)}`);
    return;
  }
  refuseOthers(step, path, FIELDS.step, problems);
  if (step.step_id !== index + 1) {
    problems.error(
      'step_id',
      `${path}.step_id`,
      `has to be ${index + 1}, the place of the step, got ${preview(step.step_id)}`,
    );
  }
  checkContent(step.message, `${path}.message`, problems);
  for (const field of OF_AGENT) {
    if (step.source === 'agent' || isAbsent(step[field])) continue;
    problems.error('of_agent', `${path}.${field}`, 'is a field of steps of the agent alone');
  }
  for (const field of ['metrics', 'reasoning_content'] as const) {
    if (step.llm_call_count !== 0 || isAbsent(step[field])) continue;
    problems.error('no_call', `${path}.${field}`, 'may not stand where llm_call_count is 0');
  }
  if (isJsonObject(step.metrics)) refuseOthers(step.metrics, `${path}.metrics`, FIELDS.metrics, problems);
  checkResults(step, checkCalls(step, path, problems), path, problems);
}

/** @returns the ids of the calls. */
function checkCalls(step: JsonObject, path: string, problems: Problems): ReadonlySet<string> {
  const ids = new Set<string>();
  if (isAbsent(step.tool_calls)) return ids;
  for (const [index, call] of listAt(step, 'tool_calls', path, problems).entries()) {
    const at = `${path}.tool_calls.${index}`;
    if (!isJsonObject(call) || typeof call.tool_call_id !== 'string' || typeof call.function_name !== 'string') {
      problems.error('tool_call', at, `has to be {tool_call_id, function_name, arguments}, got ${preview(call)}`);
      continue;
    }
    refuseOthers(call, at, FIELDS.call, problems);
    ids.add(call.tool_call_id);
    if (isJsonObject(call.arguments)) continue;
    problems.error('arguments', `${at}.arguments`, `has to be a JSON object, got ${preview(call.arguments)}`);
  }
  return ids;
}

function checkResults(step: JsonObject, calls: ReadonlySet<string>, path: string, problems: Problems): void {
  const { observation } = step;
  if (isAbsent(observation)) return;
  if (!isJsonObject(observation)) {
    problems.error('observation', `${path}.observation`, `has to be {results}, got ${preview(observation)}`);
    return;
  }
  refuseOthers(observation, `${path}.observation`, FIELDS.observation, problems);
  for (const [index, result] of listAt(observation, 'results', `${path}.observation`, problems).entries()) {
    const at = `${path}.observation.results.${index}`;
    if (!isJsonObject(result)) {
      problems.error('observation', at, `has to be an object, got ${preview(result)}`);
      continue;
    }
    refuseOthers(result, at, FIELDS.result, problems);
    const { source_call_id: id, content } = result;
    if (!isAbsent(id) && !(typeof id === 'string' && calls.has(id))) {
      problems.error('tool_answer', `${at}.source_call_id`, `answers ${preview(id)}, which is no call of its step`);
    }
    if (!isAbsent(content)) checkContent(content, `${at}.content`, problems);
  }
}

/**
 * Checks that content is a text or parts. Parts that refer to another file are refused, because the trainer has only
 * the line.
 */
function checkContent(content: Json | undefined, path: string, problems: Problems): void {
  if (typeof content === 'string') return;
  const isParts =
    Array.isArray(content) && content.every((part) => isJsonObject(part) && typeof part.type === 'string');
  if (!isParts) problems.error('content', path, `has to be a text or a list of parts, got ${preview(content)}`);
}

function listAt(object: JsonObject, field: string, path: string, problems: Problems): readonly Json[] {
  const value = object[field];
  if (Array.isArray(value)) return value;
  if (!isAbsent(value)) {
    problems.error('list', path === '' ? field : `${path}.${field}`, `has to be a list, got ${preview(value)}`);
  }
  return [];
}

function isAbsent(value: Json | undefined): boolean {
  return value === undefined || value === null;
}

function refuseOthers(object: JsonObject, path: string, fields: readonly string[], problems: Problems): void {
  for (const field of Object.keys(object)) {
    if (fields.includes(field)) continue;
    const place = path === '' ? field : `${path}.${field}`;
    problems.error('unknown_field', place, `is not a field here: there are ${fields.join(', ')}`);
  }
}
