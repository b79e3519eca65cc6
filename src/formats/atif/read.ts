import { z } from 'zod';
import type { ContentBlock } from '../../contract/chat.ts';
import { readableText } from '../../contract/content-text.ts';
import { isJsonObject } from '../../contract/json.ts';
import type { ContentPart, PromptMessage } from '../../contract/scenario.ts';
import type { Step, ToolResultRecord } from '../../contract/trace.ts';
import { withBytes } from '../addresses.ts';
import { describeIssue } from '../describe-issue.ts';
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
import { toForeignTrace } from '../foreign.ts';
import {
  Conversation,
  FormatError,
  type ImportedTrace,
  openCall,
  type ReadContext,
  toCount,
  toResult,
  toTime,
} from '../imported-trace.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { fromAtifContent } from './parts.ts';

const text = z.string().nullish();
const part = z.looseObject({
  type: z.string(),
  text,
  source: z.looseObject({ media_type: z.string(), path: z.string() }).nullish(),
});
const content = z.union([z.string(), z.array(part)]).nullish();
const count = z.number().nullish();
const extra = z.record(z.string(), z.unknown()).nullish();

const stepSchema = z.looseObject({
  timestamp: text,
  source: z.enum(['system', 'user', 'agent']),
  message: content,
  model_name: text,
  reasoning_content: text,
  tool_calls: z
    .array(z.looseObject({ tool_call_id: z.string(), function_name: z.string(), arguments: z.unknown(), extra }))
    .nullish(),
  observation: z
    .looseObject({ results: z.array(z.looseObject({ source_call_id: text, content, extra })).nullish() })
    .nullish(),
  metrics: z
    .looseObject({
      prompt_tokens: count,
      completion_tokens: count,
      cached_tokens: count,
      cost_usd: count,
      prompt_token_ids: z.json().optional(),
      completion_token_ids: z.json().optional(),
      logprobs: z.json().optional(),
      extra,
    })
    .nullish(),
  llm_call_count: count,
  extra,
});
type AtifStep = z.infer<typeof stepSchema>;

const trajectorySchema = z.looseObject({
  schema_version: z.string(),
  session_id: text,
  trajectory_id: text,
  agent: z.looseObject({ name: z.string(), version: text, model_name: text, tool_definitions: z.unknown() }),
  steps: z.array(stepSchema).min(1),
  final_metrics: z
    .looseObject({
      total_prompt_tokens: count,
      total_completion_tokens: count,
      total_cached_tokens: count,
      total_cost_usd: count,
    })
    .nullish(),
  subagent_trajectories: z.array(z.unknown()).nullish(),
  extra,
});
type Trajectory = z.infer<typeof trajectorySchema>;

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
  const parsed = trajectorySchema.safeParse(given);
  if (!parsed.success) throw new FormatError(describeIssue(parsed.error));
  const trajectory = parsed.data;
  const extension = readExtension(traceExtensionSchema, trajectory.extra, 'extra', context);
  return extension === undefined ? readForeign(trajectory, context) : readOwn(trajectory, extension, context);
}

function readOwn(trajectory: Trajectory, extension: TraceExtension, context: ReadContext): ImportedTrace {
  const messages: { turn: number; message: PromptMessage }[] = [];
  const steps: Step[] = [];
  let outside: ToolResultRecord[] | undefined;
  for (const step of trajectory.steps.slice(1)) {
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
  const told = { tools: toTools(trajectory.agent.tool_definitions), steps, messages };
  const all = outside === undefined ? told : { ...told, tool_calls: outside };
  const prompt = extension.turns.length === 0 ? { prompt: messages.map(({ message }) => message) } : {};
  return { ...fromExtension(extension, all, context), ...prompt };
}

function readForeign(trajectory: Trajectory, context: ReadContext): ImportedTrace {
  const { losses } = context;
  const conversation = new Conversation();
  loseOthers(trajectory, TRAJECTORY_FIELDS, '', losses);
  losses.add(
    'subagent_trajectories',
    'runs of other agents are not read',
    trajectory.subagent_trajectories?.length ?? 0,
  );
  for (const step of trajectory.steps) {
    loseOthers(step, STEP_FIELDS, 'steps[]', losses);
    loseOthers(step.extra, [EXTENSION], 'steps[].extra', losses);
    addForeignStep(conversation, step, trajectory, context);
  }
  loseOthers(trajectory.extra, [EXTENSION, 'task', 'env_id'], 'extra', losses);
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

const TRAJECTORY_FIELDS = [
  ...['schema_version', 'session_id', 'trajectory_id', 'agent', 'steps', 'final_metrics', 'subagent_trajectories'],
  'extra',
];
const STEP_FIELDS = [
  ...['step_id', 'timestamp', 'source', 'message', 'model_name', 'reasoning_content', 'tool_calls', 'observation'],
  ...['metrics', 'llm_call_count', 'extra'],
];

function addForeignStep(conversation: Conversation, step: AtifStep, { agent }: Trajectory, context: ReadContext): void {
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
    const said = partsOf(step.message, context);
    const metrics = step.metrics ?? {};
    const tokens = { prompt: metrics.prompt_token_ids ?? null, completion: metrics.completion_token_ids ?? null };
    const read = conversation.addStep({
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
      startedAt: at,
      tokenIds: tokens.prompt === null && tokens.completion === null ? null : tokens,
      logprobs:
        metrics.logprobs === undefined || metrics.logprobs === null
          ? null
          : { content: metrics.logprobs, refusal: null },
    });
    addResults(read, step, context);
  }
  sayLoose(conversation, step, context);
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
function sayLoose(conversation: Conversation, step: AtifStep, context: ReadContext): void {
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
function partsOf(given: z.infer<typeof content>, context: ReadContext): ContentPart[] {
  return blocksOf(given, 'steps[].message', context).map((block): ContentPart => {
    const { type, data, mimeType, text: said } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { type, data, mimeType };
    return { type: 'text', text: typeof said === 'string' ? said : `[${type}]` };
  });
}

function blocksOf(given: z.infer<typeof content>, field: string, { bytesAt, losses }: ReadContext): ContentBlock[] {
  return fromAtifContent(given, bytesAt, () => {
    losses.add(field, 'bytes are read from files beneath the folder of the file alone, never from addresses');
  });
}

function nameIn(given: unknown, name: string): string | undefined {
  const value = isJsonObject(given) ? given[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
