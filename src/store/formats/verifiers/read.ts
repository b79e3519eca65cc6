import { z } from 'zod';
import { readableText } from '../../../contract/content-text.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { describeIssue } from '../describe-issue.ts';
import {
  EXTENSION,
  messageExtensionSchema,
  readExtension,
  resultExtensionSchema,
  stepExtensionSchema,
  traceExtensionSchema,
} from '../extension.ts';
import { toForeignTrace } from '../foreign.ts';
import { FormatError, type ImportedTrace, type ReadContext, toCount, toResult, toTime } from '../imported-trace.ts';
import { OwnMessages } from '../lines/own-messages.ts';
import { ReadConversation } from '../read-conversation.ts';
import { toTools } from '../tool-definitions.ts';
import { loseOthers } from '../unknown-fields.ts';
import { messageSchema, toBlocks, toCalls, toContentParts, type VerifiersMessage } from './messages.ts';

const text = z.string().nullish();
const number = z.number().nullish();

const rowSchema = z.looseObject({
  example_id: z.union([z.number(), z.string()]),
  prompt: z.union([z.string(), z.array(messageSchema)]).nullish(),
  completion: z.union([z.string(), z.array(messageSchema)]).nullish(),
  answer: z.json().optional(),
  info: z.unknown().optional(),
  reward: number,
  error: z.union([z.string(), z.looseObject({ error: text, message: text })]).nullish(),
  timing: z.looseObject({ start_time: number, total: number }).nullish(),
  is_truncated: z.boolean().nullish(),
  stop_condition: text,
  metrics: z.record(z.string(), number).nullish(),
  tool_defs: z.unknown().optional(),
  token_usage: z.looseObject({ input_tokens: number, output_tokens: number }).nullish(),
});
type Row = z.infer<typeof rowSchema>;

export function isResultRow(given: unknown): boolean {
  return isJsonObject(given) && 'example_id' in given && 'completion' in given;
}

/** Facts of the folder's `metadata.json`, where it exists. */
export interface FolderFacts {
  readonly env: string | undefined;
  readonly model: string | undefined;
}

export function readFolderFacts(metadata: unknown): FolderFacts {
  const { env_id: env, model } = isJsonObject(metadata) ? metadata : {};
  return { env: typeof env === 'string' ? env : undefined, model: typeof model === 'string' ? model : undefined };
}

/** Reads rows of `results.jsonl` in order. Attempts of an example are numbered in that order. */
export class ResultRows {
  readonly #facts: FolderFacts;
  readonly #attempts = new Map<string, number>();

  constructor(facts: FolderFacts) {
    this.#facts = facts;
  }

  /** @throws FormatError for an invalid row. */
  read(given: unknown, context: ReadContext): ImportedTrace {
    const result = rowSchema.safeParse(given);
    if (!result.success) throw new FormatError(describeIssue(result.error));
    const row = result.data;
    const info = infoOf(row);
    const extension = readExtension(traceExtensionSchema, info, 'info', context);
    const own = isJsonObject(info) ? info[EXTENSION] : undefined;
    const messages = isJsonObject(own) && Array.isArray(own.messages) ? own.messages : [];
    return extension === undefined
      ? this.#readForeign(row, info, context)
      : readOwn(row, messages, context).toTrace(extension, toTools(row.tool_defs));
  }

  #readForeign(row: Row, info: JsonObject, context: ReadContext): ImportedTrace {
    const task = String(row.example_id);
    const attempt = (this.#attempts.get(task) ?? 0) + 1;
    this.#attempts.set(task, attempt);
    loseOthers(row, [...ROW_FIELDS, ...Object.keys(row.metrics ?? {})], '', context.losses);
    const conversation = new ReadConversation();
    for (const message of listOf(row.prompt, 'user')) addMessage(conversation, message, context, true);
    for (const message of listOf(row.completion, 'assistant')) addMessage(conversation, message, context, false);
    const begun = row.timing?.start_time ? toTime(row.timing.start_time * 1_000) : undefined;
    const seconds = row.timing?.total ?? 0;
    const { token_usage: usage } = row;
    return toForeignTrace(
      conversation,
      {
        format: 'verifiers',
        env: textIn(row, 'task') ?? textIn(row, 'env_id') ?? this.#facts.env,
        model: this.#facts.model,
        task_id: task,
        attempt_index: attempt,
        tools: toTools(row.tool_defs),
        created_at: begun,
        finished_at: begun === undefined ? undefined : toTime(Date.parse(begun) + toCount(seconds * 1_000)),
        total: usage
          ? { prompt_tokens: toCount(usage.input_tokens), completion_tokens: toCount(usage.output_tokens) }
          : undefined,
        ...endOf(row, info),
      },
      context,
    );
  }
}

const ROW_FIELDS = [
  ...['example_id', 'prompt', 'completion', 'answer', 'info', 'reward', 'error', 'timing', 'is_completed', 'task'],
  ...['env_id', 'is_truncated', 'stop_condition', 'metrics', 'tool_defs', 'token_usage', 'error_chain'],
  'long_error_chain',
];

/** `info` as an object. Some files hold it as a JSON text. */
function infoOf({ info }: Row): JsonObject {
  if (isJsonObject(info)) return info;
  if (typeof info !== 'string') return {};
  try {
    const parsed: unknown = JSON.parse(info);
    return isJsonObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function readOwn(row: Row, own: readonly unknown[], context: ReadContext): OwnMessages {
  const messages = new OwnMessages(context);
  const all = [...listOf(row.prompt, 'user'), ...listOf(row.completion, 'assistant')];
  for (const [index, message] of all.entries()) {
    const given = { [EXTENSION]: own[index] };
    const isResponse = message.role === 'assistant';
    const step = isResponse ? stepExtensionSchema.safeParse(own[index]).data : undefined;
    if (step !== undefined) {
      messages.response(step, toCalls(message));
    } else if (message.role === 'tool') {
      const result = readExtension(resultExtensionSchema, given, 'info', context);
      if (result !== undefined) messages.result(result, message.tool_call_id ?? '', toBlocks(message, context));
    } else {
      const said = readExtension(messageExtensionSchema, given, 'info', context);
      if (said !== undefined) messages.said(said, () => toPromptMessage(message, context));
    }
  }
  return messages;
}

/** @param isPrompt true for messages of the prompt: no model of the run wrote its assistant messages. */
function addMessage(
  conversation: ReadConversation,
  message: VerifiersMessage,
  context: ReadContext,
  isPrompt: boolean,
): void {
  const { role } = message;
  const isFirst = conversation.system === null && conversation.turns.length === 0;
  if (role === 'system' && isFirst) {
    conversation.system = readableText(toBlocks(message, context));
  } else if (role === 'assistant' && !isPrompt) {
    const content = readableText(toBlocks(message, context)) || null;
    const reasoning = message.reasoning_content ?? null;
    conversation.addStep({ message: { content, reasoning, tool_calls: toCalls(message) } });
  } else if (role === 'tool') {
    addResult(conversation, message, context);
  } else {
    conversation.say(toPromptMessage(message, context));
  }
}

export function addResult(conversation: ReadConversation, message: VerifiersMessage, context: ReadContext): void {
  const id = message.tool_call_id ?? '';
  const step = conversation.stepOfCall(id);
  const call = step?.message.tool_calls.find((each) => each.id === id);
  if (step === undefined || call === undefined) {
    context.losses.add('messages[]', 'it is the result of a call that no message made');
    return;
  }
  step.tool_results.push(toResult(call, toBlocks(message, context), { raw_arguments: call.raw_arguments }));
}

export function toPromptMessage(message: VerifiersMessage, context: ReadContext): PromptMessage {
  const role = message.role === 'assistant' || message.role === 'system' ? message.role : 'user';
  if (typeof message.content === 'string') return { role, content: message.content };
  return { role, content: toContentParts(toBlocks(message, context)) };
}

function listOf(given: Row['prompt'], role: string): VerifiersMessage[] {
  if (typeof given === 'string') return [{ role, content: given }];
  return given ?? [];
}

function endOf(
  row: Row,
  info: JsonObject,
): Pick<ImportedTrace, 'status' | 'stop_reason' | 'error' | 'reward' | 'evaluation'> {
  const { error, reward, metrics, answer } = row;
  const known = isEmpty(answer) ? info : { ...info, answer: answer ?? null };
  const subscores = Object.entries(metrics ?? {}).flatMap(([name, value]) =>
    typeof value === 'number' ? [{ name, value }] : [],
  );
  const evaluation: Trace['evaluation'] =
    typeof reward === 'number' ? { reward, done: true, content: null, info: known, subscores, is_error: false } : null;
  if (error) {
    const { error: name, message } = typeof error === 'string' ? { error: 'error', message: error } : error;
    const body = {
      boundary: 'environment' as const,
      code: (name ?? 'error').slice(0, 100),
      message: (message ?? '').slice(0, 10_000),
    };
    return { status: 'failed', stop_reason: 'error', error: body, reward: null, evaluation: null };
  }
  const stopReason = row.is_truncated === true ? 'length' : 'answered';
  return { status: 'completed', stop_reason: stopReason, error: null, reward: reward ?? null, evaluation };
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function textIn(row: Row, name: string): string | undefined {
  const value = row[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
