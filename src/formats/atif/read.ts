import type { ContentBlock } from '../../contract/chat.ts';
import { readableText } from '../../contract/content-text.ts';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import type { ContentPart, PromptMessage } from '../../contract/scenario.ts';
import type { Step, ToolResultRecord } from '../../contract/trace.ts';
import { withBytes } from '../addresses.ts';
import {
  EXTENSION,
  fromExtension,
  messageExtensionSchema,
  readExtension,
  resultExtensionSchema,
  stepExtensionSchema,
  type TraceExtension,
  traceExtensionSchema,
} from '../extension.ts';
import { nameOf, toForeignTrace } from '../foreign.ts';
import {
  FormatError,
  type ImportedTrace,
  openCall,
  type ReadContext,
  toCount,
  toResult,
  toTime,
} from '../imported-trace.ts';
import { ReadConversation, type ReadStep } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { fromAtifContent } from './parts.ts';
import {
  type AtifContent,
  type AtifStep,
  parseTrajectory,
  STEP_FIELDS,
  TRAJECTORY_FIELDS,
  type Trajectory,
} from './shapes.ts';

export function isAtif(given: unknown): boolean {
  return isJsonObject(given) && typeof given.schema_version === 'string' && given.schema_version.startsWith('ATIF');
}

/** The trace of one trajectory, of any version 1.x. @throws FormatError for what is none. */
export function readTrajectory(given: unknown, context: ReadContext): ImportedTrace {
  const version = isJsonObject(given) ? given.schema_version : undefined;
  if (typeof version !== 'string' || !/^ATIF-v1\.\d{1,3}$/.test(version)) {
    const got = JSON.stringify(version)?.slice(0, 100) ?? 'nothing';
    throw new FormatError(`schema_version is ${got}; ATIF-v1.0 to ATIF-v1.8, and later ones of version 1, are read.`);
  }
  const trajectory = parseTrajectory(given);
  const extension = readExtension(traceExtensionSchema, trajectory.extra, 'extra', context);
  return extension === undefined ? readForeign(trajectory, context) : readOwn(trajectory, extension, context);
}

function readOwn(trajectory: Trajectory, extension: TraceExtension, context: ReadContext): ImportedTrace {
  const messages: { turn: number; message: PromptMessage }[] = [];
  const steps: Step[] = [];
  let outside: ToolResultRecord[] | undefined;
  const branches = (trajectory.subagent_trajectories ?? []).flatMap((each) => parseTrajectory(each).steps);
  for (const step of [...trajectory.steps.slice(1), ...branches]) {
    const own = readExtension(stepExtensionSchema.or(messageExtensionSchema), step.extra, 'steps[].extra', context);
    if (own !== undefined && 'usage' in own) {
      const { content: told, reasoning, refusal, extra: sent, ...fields } = own;
      const message = { role: 'assistant' as const, content: told, reasoning, tool_calls: callsOf(step) };
      const optional = {
        ...(refusal === undefined ? {} : { refusal }),
        ...(sent === undefined ? {} : { extra: sent }),
      };
      const read = { ...fields, message: { ...message, ...optional }, tool_results: [] as ToolResultRecord[] };
      addResults(read, step, context);
      steps.push(read);
    } else if (own !== undefined) {
      const kept = own.message === undefined ? undefined : withBytes(own.message, context.bytesAt);
      messages.push({ turn: own.turn, message: kept ?? toMessage(step, context) });
    } else if (step.source === 'agent' && step.llm_call_count === 0) {
      const read = {
        message: { role: 'assistant' as const, content: null, reasoning: null, tool_calls: callsOf(step) },
      };
      const results: ToolResultRecord[] = [];
      addResults({ ...read, tool_results: results }, step, context);
      outside = results;
    }
  }
  steps.sort((one, other) => one.step - other.step);
  const told = { tools: toTools(trajectory.agent.tool_definitions), steps, messages };
  const all = outside === undefined ? told : { ...told, tool_calls: outside };
  const prompt = extension.turns.length === 0 ? { prompt: messages.map(({ message }) => message) } : {};
  return { ...fromExtension(extension, all, context), ...prompt };
}

function readForeign(trajectory: Trajectory, context: ReadContext): ImportedTrace {
  const { losses } = context;
  const conversation = new ReadConversation();
  loseOthers(trajectory, TRAJECTORY_FIELDS, '', losses);
  for (const step of trajectory.steps) {
    loseOthers(step, STEP_FIELDS, 'steps[]', losses);
    loseOthers(step.extra, [EXTENSION], 'steps[].extra', losses);
    addForeignStep(conversation, step, trajectory, context);
  }
  loseOthers(trajectory.extra, [EXTENSION, 'task', 'env_id'], 'extra', losses);
  addBranches(conversation, trajectory, context);
  const { agent, final_metrics: total } = trajectory;
  return toForeignTrace(
    conversation,
    {
      format: 'atif',
      env: nameIn(trajectory.extra, 'task') ?? nameIn(trajectory.extra, 'env_id') ?? agent.name,
      model: agent.model_name ?? trajectory.steps.find(({ model_name }) => model_name)?.model_name ?? undefined,
      id: trajectory.trajectory_id ?? trajectory.session_id ?? undefined,
      tools: toTools(agent.tool_definitions),
      total: total
        ? {
            prompt_tokens: toCount(total.total_prompt_tokens),
            completion_tokens: toCount(total.total_completion_tokens),
            cached_tokens: toCount(total.total_cached_tokens),
            cost_usd: total.total_cost_usd ?? null,
          }
        : undefined,
    },
    context,
  );
}

function addForeignStep(
  conversation: ReadConversation,
  step: AtifStep,
  { agent }: Trajectory,
  context: ReadContext,
): void {
  const at = toTime(step.timestamp);
  const isFirst = conversation.system === null && conversation.turns.length === 0;
  if (step.source === 'system' && isFirst) {
    const told = readableText(partsOf(step.message, context));
    conversation.system = told === '' ? null : told;
  } else if (step.source !== 'agent') {
    conversation.say(toMessage(step, context), at ?? null);
  } else {
    if (step.model_name && agent.model_name && step.model_name !== agent.model_name) {
      context.losses.add('steps[].model_name', 'a trace has one model');
    }
    const read = conversation.addStep(toReadStep(step, context));
    addResults(read, step, context);
  }
  sayLoose(conversation, step, context);
}

function toReadStep(step: AtifStep, context: ReadContext): ReadStep {
  const said = partsOf(step.message, context);
  const metrics = step.metrics ?? {};
  const tokens = { prompt: metrics.prompt_token_ids ?? null, completion: metrics.completion_token_ids ?? null };
  return {
    message: {
      content: readableText(said) || null,
      reasoning: step.reasoning_content ?? null,
      tool_calls: callsOf(step),
    },
    usage: {
      prompt_tokens: toCount(metrics.prompt_tokens),
      completion_tokens: toCount(metrics.completion_tokens),
      cached_tokens: toCount(metrics.cached_tokens),
      reasoning_tokens: toCount(metrics.extra?.reasoning_tokens),
      cost_usd: metrics.cost_usd ?? null,
    },
    startedAt: toTime(step.timestamp),
    tokenIds: tokens.prompt === null && tokens.completion === null ? null : tokens,
    logprobs:
      metrics.logprobs === undefined || metrics.logprobs === null ? null : { content: metrics.logprobs, refusal: null },
  };
}

/** Runs of sub-agents: conversations beside the main one, each under its id. What a sub-agent was told is the input of its next step. */
function addBranches(conversation: ReadConversation, parent: Trajectory, context: ReadContext): void {
  for (const each of parent.subagent_trajectories ?? []) {
    const trajectory = parseTrajectory(each);
    const name = nameOf(trajectory.trajectory_id ?? trajectory.session_id ?? trajectory.agent.name);
    const model = nameOf(trajectory.agent.model_name ?? trajectory.agent.name);
    let told: JsonObject[] = [];
    for (const step of trajectory.steps) {
      loseOthers(step, STEP_FIELDS, 'subagent_trajectories[].steps[]', context.losses);
      if (step.source !== 'agent') {
        told.push({ role: step.source, content: readableText(partsOf(step.message, context)) });
        continue;
      }
      const input = told.length === 0 ? undefined : { dialect: 'chat' as const, model, messages: told };
      addResults(conversation.addStep({ ...toReadStep(step, context), branch: { name, input } }), step, context);
      told = [];
    }
    addBranches(conversation, trajectory, context);
  }
}

/** Calls of a step. What a model sent that was no JSON is in the call's extension. */
function callsOf({ tool_calls: calls }: AtifStep): Step['message']['tool_calls'] {
  return (calls ?? []).map((call) => {
    const own = call.extra?.[EXTENSION];
    const raw = isJsonObject(own) && typeof own.raw_arguments === 'string' ? own.raw_arguments : null;
    const given = isJsonObject(call.arguments) ? call.arguments : {};
    return { id: call.tool_call_id, name: call.function_name, arguments: given, raw_arguments: raw };
  });
}

/** The results that answer calls of the step; those that a file of ours has for others, too. */
function addResults(
  step: Pick<Step, 'message' | 'tool_results'>,
  { observation }: AtifStep,
  context: ReadContext,
): void {
  for (const result of observation?.results ?? []) {
    const own = readExtension(resultExtensionSchema, result.extra, 'steps[].observation.results[].extra', context);
    const call = openCall(step, result.source_call_id ?? '');
    if (call === undefined && own?.tool_call_id === undefined) continue;
    const blocks = blocksOf(result.content, 'steps[].observation.results[].content', context);
    const kept = own === undefined ? {} : withBytes(own, context.bytesAt);
    loseOthers(result.extra, [EXTENSION], 'steps[].observation.results[].extra', context.losses);
    const record = toResult(call ?? { id: '', name: '' }, blocks, { raw_arguments: call?.raw_arguments ?? null });
    step.tool_results.push({ ...record, ...(kept as Partial<ToolResultRecord>) }); // The schema left out what is undefined.
  }
}

/** An observation that answers no call is what the agent was told next. */
function sayLoose(conversation: ReadConversation, step: AtifStep, context: ReadContext): void {
  const calls = (step.tool_calls ?? []).map((call) => call.tool_call_id);
  for (const { source_call_id: id, content: told } of step.observation?.results ?? []) {
    if (step.source === 'agent' && id && calls.includes(id)) continue;
    const parts = partsOf(told, context);
    if (parts.length > 0) conversation.say({ role: 'user', content: parts }, toTime(step.timestamp) ?? null);
  }
}

function toMessage(step: AtifStep, context: ReadContext): PromptMessage {
  const role = step.source === 'agent' ? 'assistant' : step.source;
  return { role, content: typeof step.message === 'string' ? step.message : partsOf(step.message, context) };
}

/** Parts that a message may have: text and images. */
function partsOf(given: AtifContent, context: ReadContext): ContentPart[] {
  return blocksOf(given, 'steps[].message', context).map((block): ContentPart => {
    const { type, data, mimeType, text: said } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { type, data, mimeType };
    return { type: 'text', text: typeof said === 'string' ? said : `[${type}]` };
  });
}

function blocksOf(given: AtifContent, field: string, { bytesAt, losses }: ReadContext): ContentBlock[] {
  return fromAtifContent(given, bytesAt, () => {
    losses.add(field, 'bytes are read from files beneath the folder of the file alone, never from addresses');
  });
}

function nameIn(given: unknown, name: string): string | undefined {
  const value = isJsonObject(given) ? given[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
