import { readableText } from '../../../contract/content-text.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import { withAddresses } from '../addresses.ts';
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
import { isReadBack, toInspectContent } from './content.ts';
import { REWARD, type SamplePlace, toAssistant, toModelUsage, toOutput } from './sample-parts.ts';
import { toEvents } from './write-events.ts';

/** A trace as a sample of an Inspect log. */
export function toSample(trace: Trace, place: SamplePlace, context: WriteContext): JsonObject {
  const messages = [...toMessages(trace, context)].map((message, index) => ({
    id: `${trace.trace_id}-${index + 1}`,
    ...message,
  }));
  const last = trace.steps.findLast(isMain);
  return withoutUndefined({
    id: place.id,
    epoch: place.epoch,
    input: trace.prompt.map(({ content }) => readableText(content)).join('\n\n'),
    target: '',
    messages,
    output: last === undefined ? { model: trace.model, choices: [] } : toOutput(last, trace.model),
    scores: toScores(trace, context),
    metadata: { [EXTENSION]: { ...toListExtension(trace, context), tools: trace.tools } },
    store: {},
    events: toEvents(trace, place),
    model_usage: trace.steps.length === 0 ? {} : { [trace.model]: toModelUsage(trace.usage) },
    started_at: trace.started_at ?? trace.created_at,
    completed_at: trace.finished_at ?? undefined,
    total_time: trace.timing.total_ms / 1_000,
    working_time: (trace.timing.model_ms + trace.timing.tool_ms) / 1_000,
    uuid: trace.trace_id,
    error: toError(trace),
    limit: toLimit(trace),
    attachments: {},
  });
}

function* toMessages(trace: Trace, context: WriteContext): Generator<JsonObject> {
  if (trace.system !== null) yield { role: 'system', content: trace.system };
  for (const told of ownMessages(trace)) yield toMessage(told, trace.model, context);
}

function toMessage(told: ToldMessage, model: string, context: WriteContext): JsonObject {
  if (told.kind === 'said') {
    const { role, content } = told.message;
    const field = 'turns[].messages[].content';
    const written = toInspectContent(content, field, context);
    const isKept = isReadBack(content, written, context);
    const own = { turn: told.turn, ...(isKept ? {} : { message: withAddresses(told.message, field, context) }) };
    return { role, content: written, source: 'input', metadata: { [EXTENSION]: own } };
  }
  if (told.kind === 'response') {
    const own = toResponseExtension(told.step);
    return { ...toAssistant(told.step, model), metadata: { [EXTENSION]: own } };
  }
  const { record } = told;
  const field = 'steps[].tool_results[].content';
  const written = toInspectContent(record.content, field, context);
  const text = readableText(record.content);
  const own = toOwnResult(told, isReadBack(record.content, written, context), context);
  return withoutUndefined({
    role: 'tool',
    content: written,
    tool_call_id: record.tool_call_id,
    function: record.name,
    error: record.is_error ? { type: 'unknown', message: text } : undefined,
    metadata: { [EXTENSION]: own },
  });
}

/** Without a reward an empty object is returned: viewers fail on a sample without the field. */
function toScores({ reward, evaluation, answer }: Trace, context: WriteContext): JsonObject {
  if (reward === null) return {};
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const own = withoutUndefined({
    value: reward,
    answer: text.slice(0, MAX_ANSWER),
    explanation: evaluation?.content ?? undefined,
    metadata: withAddresses(evaluation?.info ?? {}, 'evaluation.info', context),
  });
  const parts = (evaluation?.subscores ?? []).filter(({ name }) => name !== REWARD && name !== '__proto__');
  return { [REWARD]: own, ...Object.fromEntries(parts.map(({ name, value }) => [name, { value }])) };
}

/** Characters of the answer in a score. The whole answer is with the other fields of the trace. */
const MAX_ANSWER = 10_000;

function toError({ status, error, stop_reason }: Trace): JsonObject | undefined {
  if (status === 'completed') return undefined;
  const message = error === null ? `${status}: ${stop_reason}` : `${error.boundary}: ${error.message}`;
  return { message, traceback: message, traceback_ansi: message };
}

function toLimit({ status, stop_reason: reason, max_steps, timing }: Trace): JsonObject | undefined {
  if (status !== 'completed') return undefined;
  if (reason === 'max_steps') return { type: 'turn', limit: max_steps };
  return reason === 'timeout' ? { type: 'time', limit: timing.total_ms / 1_000 } : undefined;
}
