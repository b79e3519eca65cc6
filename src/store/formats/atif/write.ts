import { isDeepStrictEqual } from 'node:util';
import type { AgentTool, AssistantMessage, ContentBlock } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import { withAddresses } from '../addresses.ts';
import { EXTENSION, toResultExtension, toStepExtension, toTraceExtension, withoutUndefined } from '../extension.ts';
import type { LineFormat } from '../format.ts';
import { openCall } from '../imported-trace.ts';
import { isMain } from '../is-main.ts';
import { type AtifContext, toAtifContent, toAtifParts } from './parts.ts';

/** Versions that can be written. They differ in the label, and in audio, which 1.8 added. */
export const ATIF_VERSIONS = ['1.8', '1.7'] as const;
export type AtifVersion = (typeof ATIF_VERSIONS)[number];

/** The ATIF format, with one document for each trace. */
export function atifFormat(version: AtifVersion): LineFormat {
  return {
    name: 'atif',
    toLine: (trace, context) => toTrajectory(trace, version, { ...context, hasAudio: version !== '1.7' }),
  };
}

function toTrajectory(trace: Trace, version: AtifVersion, context: AtifContext): JsonObject {
  const steps = numbered(toSteps(trace, context));
  const branches = toBranches(trace, version, context);
  const { usage } = trace;
  return {
    ...toHead(trace, version, trace.trace_id),
    steps,
    ...(branches.length === 0 ? {} : { subagent_trajectories: branches }),
    final_metrics: withoutUndefined({
      total_prompt_tokens: usage.prompt_tokens,
      total_completion_tokens: usage.completion_tokens,
      total_cached_tokens: Math.min(usage.cached_tokens, usage.prompt_tokens),
      total_cost_usd: usage.cost_usd ?? undefined,
      total_steps: steps.length,
    }),
    extra: { [EXTENSION]: toTraceExtension(trace, context) },
  };
}

function toHead(trace: Trace, version: AtifVersion, id: string): JsonObject {
  return {
    schema_version: `ATIF-v${version}`,
    session_id: trace.trace_id,
    trajectory_id: id,
    agent: {
      name: trace.model,
      version: trace.versions.proctor === '' ? 'unknown' : trace.versions.proctor,
      model_name: trace.model,
      tool_definitions: trace.tools.map(toDefinition),
    },
  };
}

function numbered(steps: Iterable<JsonObject>): JsonObject[] {
  return [...steps].map((step, index) => ({ step_id: index + 1, ...step }));
}

/** Side conversations. Each becomes a trajectory of its own. */
function toBranches(trace: Trace, version: AtifVersion, context: AtifContext): JsonObject[] {
  const names = new Set(trace.steps.flatMap((step) => (isMain(step) ? [] : [step.branch])));
  return [...names].map((name) => ({
    ...toHead(trace, version, `${trace.trace_id}/${name}`),
    steps: numbered(trace.steps.filter(({ branch }) => branch === name).map((step) => toAgentStep(step, context))),
  }));
}

function* toSteps(trace: Trace, context: AtifContext): Generator<JsonObject> {
  yield { timestamp: trace.created_at, source: 'system', message: trace.system ?? '' };
  // Without a turn there is only the prompt. Otherwise the first turn begins with it, or the extension holds it.
  if (trace.turns.length === 0) for (const message of trace.prompt) yield toMessageStep(message, 0, trace, context);
  for (const turn of trace.turns) {
    for (const message of turn.messages) yield toMessageStep(message, turn.turn, trace, context);
    const own = trace.steps.filter((step) => step.turn === turn.turn && isMain(step));
    for (const step of own) yield toAgentStep(step, context);
  }
  if (trace.tool_calls !== undefined && trace.tool_calls.length > 0) yield toOutsideStep(trace.tool_calls, context);
}

/** A message that no model of the run wrote: input of the agent, or examples in a prompt. */
function toMessageStep({ role, content }: PromptMessage, turn: number, trace: Trace, context: AtifContext): JsonObject {
  const field = turn === 0 ? 'prompt[].content' : 'turns[].messages[].content';
  const source = role === 'assistant' ? 'agent' : role;
  const message = toAtifParts(content, field, context);
  const isKept = typeof content === 'string' ? true : isReadBack(content, message, context);
  const own = { turn, ...(isKept ? {} : { message: withAddresses({ role, content }, field, context) }) };
  return {
    timestamp: trace.turns[turn - 1]?.started_at ?? trace.created_at,
    source,
    message,
    ...(source === 'agent' ? { llm_call_count: 0 } : {}),
    extra: { [EXTENSION]: own },
  };
}

function toAgentStep(step: Step, context: AtifContext): JsonObject {
  const { message, usage } = step;
  const { tool_calls: calls } = message;
  const results = step.tool_results.map((record, index) => {
    const call = openCall({ message, tool_results: step.tool_results.slice(0, index) }, record.tool_call_id);
    return toObservation(record, call, context);
  });
  return withoutUndefined({
    timestamp: step.started_at,
    source: 'agent',
    message: message.content ?? '',
    reasoning_content: message.reasoning ?? undefined,
    tool_calls: calls.length === 0 ? undefined : calls.map(toCall),
    observation: results.length === 0 ? undefined : { results },
    metrics: withoutUndefined({
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      cached_tokens: Math.min(usage.cached_tokens, usage.prompt_tokens),
      cost_usd: usage.cost_usd ?? undefined,
      prompt_token_ids: integersIn(step.token_ids, 'prompt'),
      completion_token_ids: integersIn(step.token_ids, 'completion'),
      logprobs: logprobsIn(step.logprobs),
      extra: usage.reasoning_tokens === 0 ? undefined : { reasoning_tokens: usage.reasoning_tokens },
    }),
    llm_call_count: 1,
    extra: { [EXTENSION]: toStepExtension(step) },
  });
}

function toCall({
  id,
  name,
  arguments: given,
  raw_arguments: raw,
}: AssistantMessage['tool_calls'][number]): JsonObject {
  return {
    tool_call_id: id,
    function_name: name,
    arguments: given,
    ...(raw === null ? {} : { extra: { [EXTENSION]: { raw_arguments: raw } } }),
  };
}

/**
 * @param call the call of the same step that the result answers. ATIF cannot show a result without its call in the
 * step.
 */
function toObservation(
  record: ToolResultRecord,
  call: AssistantMessage['tool_calls'][number] | undefined,
  context: AtifContext,
): JsonObject {
  const field = 'steps[].tool_results[].content';
  const content = toAtifContent(record.content, field, context);
  const known: Partial<ToolResultRecord> = {
    ...(call && {
      tool_call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      raw_arguments: call.raw_arguments,
    }),
    ...(isReadBack(record.content, content, context) ? { content: record.content } : {}),
    structured_content: null,
    is_error: false,
  };
  return withoutUndefined({
    source_call_id: call?.id,
    content,
    extra: { [EXTENSION]: toResultExtension(record, known, context) },
  });
}

/** A step for tool calls whose model calls did not pass through Proctor. */
function toOutsideStep(calls: readonly ToolResultRecord[], context: AtifContext): JsonObject {
  const asked = calls.map(({ tool_call_id: id, name, arguments: given, raw_arguments }) => ({
    id,
    name,
    arguments: given,
    raw_arguments,
  }));
  const results = calls.map((record, index) => toObservation(record, asked[index], context));
  return {
    source: 'agent',
    message: '',
    tool_calls: asked.map(toCall),
    observation: { results },
    llm_call_count: 0,
    extra: { [EXTENSION]: { outside: true } },
  };
}

/** True when a reader of the format gets the same content back. */
function isReadBack(content: readonly ContentBlock[], written: string | JsonObject[], context: AtifContext): boolean {
  if (content.some(({ type }) => type !== 'text' && type !== 'image' && type !== 'audio')) return false;
  if (content.length === 0) return false;
  const kinds = content.map(({ type, text, data, mimeType }) => ({
    type,
    ...(type === 'text' ? { text } : { data, mimeType }),
  }));
  if (!isDeepStrictEqual(kinds, content)) return false;
  if (typeof written === 'string') return true;
  return written.every((part, index) => {
    const block = content[index];
    if (part.type !== block?.type) return false;
    return part.type === 'text' || (block !== undefined && context.addressOf(bytesOf(block)) !== undefined);
  });
}

function bytesOf({ data, mimeType }: ContentBlock) {
  return { data: String(data), mimeType: String(mimeType) };
}

function toDefinition({ name, description, input_schema: parameters }: AgentTool): JsonObject {
  // Tool schemas are sent as JSON, so this is a JSON object.
  return { type: 'function', function: { name, description, parameters: parameters as JsonObject } };
}

function integersIn(tokens: Json, part: 'prompt' | 'completion'): Json | undefined {
  const ids = isJsonObject(tokens) ? tokens[part] : undefined;
  return Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id)) ? ids : undefined;
}

function logprobsIn(logprobs: Json): Json | undefined {
  const content = isJsonObject(logprobs) ? logprobs.content : undefined;
  if (!Array.isArray(content)) return undefined;
  const numbers = content.map((each) => (isJsonObject(each) ? each.logprob : each));
  return numbers.every((each) => typeof each === 'number') ? numbers : undefined;
}
