import { readableText } from '../../../contract/content-text.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { Step, ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import { withoutUndefined } from '../extension.ts';
import { REWARD, type SamplePlace, toOutput } from './sample-parts.ts';

/**
 * The events of a sample, which a viewer shows as its transcript. They do not repeat the model's input at each call:
 * the log would grow with the square of its steps, and the messages have it already.
 */
export function toEvents(trace: Trace, place: SamplePlace): JsonObject[] {
  const begun = Date.parse(trace.started_at ?? trace.created_at);
  const at = (time: string) => ({ timestamp: time, working_start: Math.max(0, Date.parse(time) - begun) / 1_000 });
  const events: JsonObject[] = [
    { event: 'sample_init', ...at(trace.started_at ?? trace.created_at), ...toInit(trace, place) },
  ];
  for (const step of trace.steps) {
    events.push({ event: 'model', ...at(step.started_at), ...toModelEvent(step, trace.model) });
    const answered = Date.parse(step.started_at) + step.model_ms;
    for (const record of step.tool_results) {
      events.push({ event: 'tool', ...at(new Date(answered).toISOString()), ...toToolEvent(record, answered) });
    }
  }
  const end = at(trace.finished_at ?? trace.created_at);
  if (trace.reward !== null) {
    const score = withoutUndefined({ value: trace.reward, explanation: trace.evaluation?.content ?? undefined });
    events.push({ event: 'score', ...end, score, scorer: REWARD, intermediate: false });
  }
  if (trace.error !== null) {
    const { message } = trace.error;
    events.push({ event: 'error', ...end, error: { message, traceback: message, traceback_ansi: message } });
  }
  return events.map((event, index) => ({ uuid: `${trace.trace_id}-e${index + 1}`, ...event }));
}

function toInit(trace: Trace, { id }: SamplePlace): JsonObject {
  const input = trace.prompt.map(({ content }) => readableText(content)).join('\n\n');
  return { sample: { id, input, target: '', metadata: {} }, state: {} };
}

function toModelEvent(step: Step, model: string): JsonObject {
  const completed = new Date(Date.parse(step.started_at) + step.model_ms).toISOString();
  return {
    model,
    input: [],
    tools: [],
    tool_choice: 'auto',
    config: {},
    output: toOutput(step, model),
    retries: step.retries,
    completed,
    working_time: step.model_ms / 1_000,
  };
}

function toToolEvent(record: ToolResultRecord, begun: number): JsonObject {
  const text = readableText(record.content);
  return withoutUndefined({
    type: 'function',
    id: record.tool_call_id,
    function: record.name,
    arguments: record.arguments,
    result: text,
    error: record.is_error ? { type: 'unknown', message: text } : undefined,
    completed: new Date(begun + record.duration_ms).toISOString(),
    working_time: record.duration_ms / 1_000,
    events: [],
  });
}
