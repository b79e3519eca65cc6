import { readableText } from '../../../contract/content-text.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart, PromptMessage } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord } from '../../../contract/service/trace.ts';
import { describeIssue } from '../describe-issue.ts';
import {
  EXTENSION,
  messageExtensionSchema,
  readExtension,
  resultExtensionSchema,
  stepExtensionSchema,
  traceExtensionSchema,
} from '../extension.ts';
import { toFinishReason, toForeignTrace } from '../foreign.ts';
import {
  FormatError,
  type ImportedTrace,
  type ReadContext,
  toArguments,
  toCount,
  toResult,
  toTime,
} from '../imported-trace.ts';
import { OwnMessages } from '../lines/own-messages.ts';
import { ReadConversation } from '../read-conversation.ts';
import { toAgentTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { withAttachments } from './attachments.ts';
import { fromInspectContent } from './content.ts';
import { type EventFacts, readEvents } from './read-events.ts';
import { readScores } from './read-scores.ts';
import {
  type InspectHeader,
  type InspectMessage,
  type InspectSample,
  type InspectUsage,
  sampleSchema,
} from './shapes.ts';

/** The trace of one sample. @throws FormatError for an invalid sample. */
export function readSample(given: unknown, header: InspectHeader, context: ReadContext): ImportedTrace {
  const parsed = sampleSchema.safeParse(withAttachments(given));
  if (!parsed.success) throw new FormatError(`A sample: ${describeIssue(parsed.error)}`);
  const sample = parsed.data;
  const extension = readExtension(traceExtensionSchema, sample.metadata, 'samples[].metadata', context);
  return extension === undefined
    ? readForeign(sample, header, context)
    : readOwn(sample, context).toTrace(extension, toAgentTools(ownTools(sample)));
}

function ownTools({ metadata }: InspectSample): unknown {
  const own = metadata?.[EXTENSION];
  return isJsonObject(own) ? own.tools : undefined;
}

function readOwn(sample: InspectSample, context: ReadContext): OwnMessages {
  const messages = new OwnMessages(context);
  const field = 'samples[].messages[].metadata';
  for (const message of sample.messages ?? []) {
    if (message.role === 'assistant' && message.source !== 'input') {
      const own = readExtension(stepExtensionSchema, message.metadata, field, context);
      if (own !== undefined) messages.response(own, callsOf(message));
    } else if (message.role === 'tool') {
      const own = readExtension(resultExtensionSchema, message.metadata, field, context);
      if (own !== undefined) messages.result(own, idOf(message), blocksOf(message, context));
    } else {
      const own = readExtension(messageExtensionSchema, message.metadata, field, context);
      if (own !== undefined) messages.said(own, () => toMessage(message, context));
    }
  }
  return messages;
}

function readForeign(sample: InspectSample, header: InspectHeader, context: ReadContext): ImportedTrace {
  const { losses } = context;
  loseOthers(sample, SAMPLE_FIELDS, 'samples[]', losses);
  const facts = readEvents(sample.events ?? []);
  const conversation = new ReadConversation();
  const input = Array.isArray(sample.input) ? sample.input : [{ role: 'user' as const, content: sample.input ?? '' }];
  const told = sample.messages !== null && sample.messages !== undefined && sample.messages.length > 0;
  for (const message of told ? (sample.messages ?? []) : input) addMessage(conversation, message, facts, context);
  const scored = readScores(sample, context);
  const started = toTime(sample.started_at) ?? facts.firstAt;
  const { eval: spec } = header;
  const model = spec.model ?? undefined;
  return toForeignTrace(
    conversation,
    {
      format: 'inspect',
      env: spec.task ?? undefined,
      model,
      id: sample.uuid ?? spec.eval_id ?? undefined,
      task_id: String(sample.id),
      attempt_index: sample.epoch === null || sample.epoch === undefined ? null : toCount(sample.epoch),
      scenario_args: jsonRecord(spec.task_args),
      created_at: started ?? toTime(spec.created),
      started_at: started,
      finished_at: toTime(sample.completed_at) ?? after(started, sample.total_time) ?? facts.lastAt,
      ...endOf(sample),
      ...scored,
      total: totalOf(sample),
    },
    context,
  );
}

const SAMPLE_FIELDS = [
  ...['id', 'epoch', 'input', 'target', 'messages', 'output', 'scores', 'events', 'model_usage', 'total_time'],
  ...['started_at', 'completed_at', 'uuid', 'error', 'limit', 'attachments'],
];

function addMessage(
  conversation: ReadConversation,
  message: InspectMessage,
  facts: EventFacts,
  context: ReadContext,
): void {
  const { losses } = context;
  loseOthers(message, MESSAGE_FIELDS, 'samples[].messages[]', losses);
  const isFirst = conversation.system === null && conversation.turns.length === 0;
  if (message.role === 'system' && isFirst) {
    conversation.system = readableText(blocksOf(message, context));
  } else if (message.role === 'tool') {
    addResult(conversation, message, facts, context);
  } else if (message.role === 'assistant' && message.source !== 'input') {
    const event = facts.models.get(message.id ?? '');
    const usage = event?.output.usage ?? undefined;
    const choice = event?.output.choices?.[0];
    conversation.addStep({
      message: {
        content: readableText(blocksOf(message, context)) || null,
        reasoning: reasoningOf(message),
        tool_calls: callsOf(message),
      },
      usage: usage && toUsage(usage),
      finishReason: toFinishReason(choice?.stop_reason),
      startedAt: toTime(event?.timestamp),
      modelMs: toCount((event?.output.time ?? event?.working_time ?? 0) * 1_000),
      logprobs: choice?.logprobs ?? null,
    });
  } else {
    conversation.say(toMessage(message, context));
  }
}

const MESSAGE_FIELDS = [
  ...['id', 'role', 'content', 'source', 'model', 'tool_calls', 'tool_call_id', 'function', 'error'],
];

function addResult(
  conversation: ReadConversation,
  message: InspectMessage,
  facts: EventFacts,
  context: ReadContext,
): void {
  const id = idOf(message);
  const step = conversation.stepOfCall(id);
  if (step === undefined) {
    context.losses.add('samples[].messages[]', 'it is the result of a call that no message made');
    return;
  }
  const call = step.message.tool_calls.find((each) => each.id === id) ?? { id, name: message.function ?? '' };
  const said = blocksOf(message, context);
  const text = readableText(said);
  const failure = toFailure(message, text);
  step.tool_results.push(
    toResult(call, text === '' && failure.length > 0 ? failure : [...said, ...failure], {
      raw_arguments: 'raw_arguments' in call ? call.raw_arguments : null,
      is_error: message.error !== null && message.error !== undefined,
      duration_ms: facts.toolMs.get(id) ?? 0,
    }),
  );
}

/** The error of a failed call, as text, in addition to the content. @param said text of the content. */
function toFailure({ error }: InspectMessage, said: string): ToolResultRecord['content'] {
  if (error === null || error === undefined) return [];
  const kind = error.type === 'unknown' ? '' : (error.type ?? '');
  const message = error.message ?? '';
  const parts = [kind, message].filter((part) => part !== '' && !said.includes(part));
  return parts.length === 0 ? [] : [{ type: 'text', text: parts.join(': ') }];
}

function callsOf({ tool_calls: calls }: InspectMessage): Step['message']['tool_calls'] {
  return (calls ?? []).map((call) => ({ id: call.id, name: call.function, ...toArguments(call.arguments) }));
}

function idOf({ tool_call_id: id }: InspectMessage): string {
  return (Array.isArray(id) ? id[0] : id) ?? '';
}

function toMessage(message: InspectMessage, context: ReadContext): PromptMessage {
  const role = message.role === 'tool' ? 'user' : message.role;
  if (typeof message.content === 'string') return { role, content: message.content };
  const parts = blocksOf(message, context).map((block): ContentPart => {
    const { type, data, mimeType, text } = block;
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { type, data, mimeType };
    return { type: 'text', text: typeof text === 'string' ? text : `[${type}]` };
  });
  return { role, content: parts };
}

function blocksOf({ content }: InspectMessage, { bytesAt, losses }: ReadContext): ToolResultRecord['content'] {
  return fromInspectContent(content, bytesAt, (kind) => {
    losses.add(
      `samples[].messages[].content[].${kind.slice(0, 50)}`,
      'traces have no such content, or its bytes are elsewhere',
    );
  });
}

function reasoningOf({ content }: InspectMessage): string | null {
  if (!Array.isArray(content)) return null;
  const thoughts = content.flatMap((item) =>
    item.type === 'reasoning' && typeof item.reasoning === 'string' ? [item.reasoning] : [],
  );
  return thoughts.length === 0 ? null : thoughts.join('\n');
}

function toUsage(usage: InspectUsage): Step['usage'] {
  const cached = toCount(usage.input_tokens_cache_read);
  const prompt = toCount(usage.input_tokens) + cached + toCount(usage.input_tokens_cache_write);
  const completion = toCount(usage.output_tokens);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: toCount(usage.total_tokens) || prompt + completion,
    cached_tokens: cached,
    reasoning_tokens: toCount(usage.reasoning_tokens),
    cost_usd: usage.total_cost ?? null,
  };
}

/** Total tokens of all models, for logs without events. */
function totalOf({ model_usage: usages }: InspectSample): Step['usage'] | undefined {
  const [first, ...others] = Object.values(usages ?? {}).map(toUsage);
  if (first === undefined) return undefined;
  return others.reduce(
    (sum, each) => ({
      prompt_tokens: sum.prompt_tokens + each.prompt_tokens,
      completion_tokens: sum.completion_tokens + each.completion_tokens,
      total_tokens: sum.total_tokens + each.total_tokens,
      cached_tokens: sum.cached_tokens + each.cached_tokens,
      reasoning_tokens: sum.reasoning_tokens + each.reasoning_tokens,
      cost_usd: sum.cost_usd === null || each.cost_usd === null ? null : sum.cost_usd + each.cost_usd,
    }),
    first,
  );
}

const LIMITS: Readonly<Record<string, ImportedTrace['stop_reason']>> = {
  message: 'max_steps',
  turn: 'max_steps',
  context: 'length',
  token: 'length',
  cost: 'length',
  time: 'timeout',
  working: 'timeout',
  custom: 'max_steps',
};

function endOf({ error, limit }: InspectSample): Pick<ImportedTrace, 'status' | 'stop_reason' | 'error'> {
  if (error) {
    const message = (error.message ?? 'The sample failed.').slice(0, 10_000);
    return {
      status: 'failed',
      stop_reason: 'error',
      error: { boundary: 'environment', code: 'inspect_error', message },
    };
  }
  if (limit?.type === 'operator') return { status: 'cancelled', stop_reason: 'cancelled', error: null };
  const reason = limit ? (LIMITS[limit.type ?? ''] ?? 'max_steps') : 'answered';
  return { status: 'completed', stop_reason: reason, error: null };
}

function after(time: string | undefined, seconds: number | null | undefined): string | undefined {
  if (time === undefined || typeof seconds !== 'number') return undefined;
  return toTime(Date.parse(time) + toCount(seconds * 1_000));
}

function jsonRecord(given: Readonly<Record<string, unknown>> | null | undefined): JsonObject {
  return isJsonObject(given) ? given : {};
}
