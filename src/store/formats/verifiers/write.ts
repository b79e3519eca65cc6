import { isDeepStrictEqual } from 'node:util';
import type { ContentBlock } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { addressOrLoss, withAddresses } from '../addresses.ts';
import { EXTENSION, withoutUndefined } from '../extension.ts';
import type { WriteContext } from '../format.ts';
import { isMain } from '../is-main.ts';
import {
  ownMessages,
  type ToldMessage,
  toListExtension,
  toOwnResult,
  toResponseExtension,
} from '../lines/own-messages.ts';

/** Field names of a row. A metric with one of these names is not copied to the top level. */
const ROW_FIELDS = [
  ...['example_id', 'prompt', 'completion', 'answer', 'info', 'reward', 'error', 'timing', 'is_completed'],
  ...['is_truncated', 'stop_condition', 'metrics', 'tool_defs', 'token_usage', 'error_chain', 'long_error_chain'],
];

/** A line of `results.jsonl`. @param exampleId index of the trace's task. */
export function toResultRow(trace: Trace, exampleId: number, context: WriteContext): JsonObject {
  const told = [...ownMessages(trace)];
  const begun = told.findIndex(({ kind }) => kind === 'response');
  const prompted = trace.turns.length <= 1 ? (begun === -1 ? told.length : begun) : firstTurn(told);
  const rows = told.map((each) => toMessage(each, context));
  const system = trace.system === null ? [] : [{ message: { role: 'system', content: trace.system }, own: null }];
  const prompt = [...system, ...rows.slice(0, prompted)];
  const completion = rows.slice(prompted);
  const messages = [...prompt, ...completion].map(({ own }) => own);
  const metrics = Object.fromEntries((trace.evaluation?.subscores ?? []).map(({ name, value }) => [name, value]));
  const error = toError(trace);
  const last = trace.steps.findLast(isMain);
  return withoutUndefined({
    ...Object.fromEntries(Object.entries(metrics).filter(([name]) => !ROW_FIELDS.includes(name))),
    example_id: exampleId,
    prompt: prompt.map(({ message }) => message),
    completion: completion.map(({ message }) => message),
    info: { [EXTENSION]: { ...toListExtension(trace, context), messages } },
    reward: trace.reward ?? 0,
    error,
    ...(error === null ? {} : { error_chain: error.error_chain_repr, long_error_chain: error.error_chain_str }),
    timing: toTiming(trace),
    is_completed: trace.status === 'completed',
    is_truncated: trace.stop_reason === 'max_steps' || trace.stop_reason === 'length',
    stop_condition: trace.stop_reason,
    metrics,
    tool_defs: trace.tools.map(({ name, description, input_schema: parameters }) => ({
      name,
      description,
      parameters,
      strict: null,
    })),
    token_usage: {
      input_tokens: trace.usage.prompt_tokens,
      output_tokens: trace.usage.completion_tokens,
      final_input_tokens: last?.usage.prompt_tokens ?? 0,
      final_output_tokens: last?.usage.completion_tokens ?? 0,
    },
  });
}

/** Number of messages of the first turn. Later turns of a chat are part of the completion. */
function firstTurn(told: readonly ToldMessage[]): number {
  const other = told.findIndex((each) => each.kind !== 'said' || each.turn > 1);
  return other === -1 ? told.length : other;
}

function toMessage(told: ToldMessage, context: WriteContext): { message: JsonObject; own: JsonObject } {
  if (told.kind === 'response') {
    const { content, reasoning, tool_calls: calls } = told.step.message;
    // A call is stored as JSON text.
    const made = calls.map(({ id, name, arguments: given, raw_arguments: raw }) =>
      JSON.stringify({ id, name, arguments: raw ?? JSON.stringify(given) }),
    );
    const message = {
      role: 'assistant',
      content: content ?? '',
      ...(reasoning === null ? {} : { reasoning_content: reasoning }),
      ...(made.length === 0 ? {} : { tool_calls: made }),
    };
    return { message, own: toResponseExtension(told.step) };
  }
  if (told.kind === 'said') {
    const { role, content } = told.message;
    const field = 'turns[].messages[].content';
    const written = typeof content === 'string' ? content : toParts(content, field, context);
    const isKept = typeof content === 'string' || isReadBack(content, written);
    const own = { turn: told.turn, ...(isKept ? {} : { message: withAddresses(told.message, field, context) }) };
    return { message: { role, content: written }, own: own as JsonObject }; // It holds JSON values only.
  }
  const { record } = told;
  const field = 'steps[].tool_results[].content';
  const written = toParts(record.content, field, context);
  const own = toOwnResult(told, isReadBack(record.content, written), context);
  return { message: { role: 'tool', tool_call_id: record.tool_call_id, content: written }, own };
}

/** Content as OpenAI parts: text and images. Other blocks are replaced by their kind. */
function toParts(content: readonly ContentBlock[], field: string, context: WriteContext): JsonObject[] | string {
  if (content.length === 0) return '';
  return content.map(({ type, text, data, mimeType }): JsonObject => {
    if (type === 'text' && typeof text === 'string') return { type, text };
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      const url = addressOrLoss({ data, mimeType }, field, context);
      if (url !== undefined) return { type: 'image_url', image_url: { url } };
    }
    return { type: 'text', text: `[${type}]` };
  });
}

/** True when a reader gets the same list back. That holds for text only, because a reader has to guess image types. */
function isReadBack(content: readonly ContentBlock[], written: JsonObject[] | string): boolean {
  return typeof written !== 'string' && isDeepStrictEqual(written, content);
}

function toError({ error, reward, status, stop_reason }: Trace): { [field: string]: string } | null {
  if (error === null && reward !== null) return null;
  const name = error?.code ?? 'no_reward';
  const message = error?.message ?? `The run has no reward: ${status}, ${stop_reason}.`;
  return {
    error: name,
    message,
    error_chain_repr: `${name}(${JSON.stringify(message)})`,
    error_chain_str: `${name}: ${message}`,
  };
}

/** Times of a row, in seconds. */
function toTiming({ created_at, started_at, finished_at, timing, steps }: Trace): JsonObject {
  const start = Date.parse(started_at ?? created_at) / 1_000;
  const end = Date.parse(finished_at ?? created_at) / 1_000;
  const evaluated = timing.evaluate_ms / 1_000;
  const generated = start + (timing.environment_ms + timing.setup_ms) / 1_000;
  const spans = steps.map((step) => span(Date.parse(step.started_at) / 1_000, step.model_ms / 1_000));
  return {
    start_time: start,
    setup: span(start, (timing.environment_ms + timing.setup_ms) / 1_000),
    generation: span(generated, Math.max(0, end - evaluated - generated)),
    scoring: span(end - evaluated, evaluated),
    model: { spans, duration: timing.model_ms / 1_000 },
    env: { spans: [], duration: timing.tool_ms / 1_000 },
    total: Math.max(0, end - start),
    overhead: 0,
  };
}

function span(start: number, duration: number): JsonObject {
  return { start, end: start + duration, duration };
}
