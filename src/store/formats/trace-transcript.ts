import { isDeepStrictEqual } from 'node:util';
import type { AssistantMessage, TranscriptMessage } from '../../contract/chat.ts';
import { readableText } from '../../contract/content-text.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { Step, ToolResultRecord, Trace } from '../../contract/service/trace.ts';
import { isMain } from './is-main.ts';

/** One message of a trace's transcript. `step` is set when the message is a model's response. */
export interface TracedMessage {
  readonly message: TranscriptMessage;
  readonly step: Step | undefined;
}

/**
 * The transcript of a trace's model at its end, including the last response: system text, instructions of the caller,
 * the scenario's prompt, then the turns (contract section 2). Side conversations are not part of it. Bytes may be
 * references to blobs.
 */
export function toTranscript(trace: Trace): readonly TracedMessage[] {
  const instructions: TracedMessage[] = [];
  const turns: TracedMessage[] = [];
  for (const turn of trace.turns) {
    const steps = trace.steps.filter((step) => step.turn === turn.turn && isMain(step));
    // A turn that was cut off before its first step took its messages back.
    if (steps.length === 0 && (turn.status === 'failed' || turn.status === 'aborted')) continue;
    for (const message of messagesOf(trace, turn)) {
      (message.role === 'system' ? instructions : turns).push(said(message));
    }
    for (const step of steps) {
      turns.push({ message: withoutRawArguments(step.message), step });
      turns.push(...step.tool_results.map((result) => ({ message: toToolMessage(result), step: undefined })));
    }
  }
  const system: TracedMessage[] =
    trace.system === null ? [] : [{ message: { role: 'system', content: trace.system }, step: undefined }];
  return [...system, ...instructions, ...trace.prompt.map(said), ...turns];
}

/**
 * Messages of a turn. A first turn that only repeats the scenario's prompt has none, because the prompt precedes all
 * turns.
 */
function messagesOf(trace: Trace, turn: Trace['turns'][number]): readonly PromptMessage[] {
  return turn.turn === 1 && isDeepStrictEqual(turn.messages, trace.prompt) ? [] : turn.messages;
}

/** An assistant message that a prompt or a caller wrote. It has only text. */
function said(message: PromptMessage): TracedMessage {
  const { role, content } = message;
  if (role !== 'assistant') return { message: { role, content }, step: undefined };
  const text = readableText(content);
  return { message: { role, content: text, reasoning: null, tool_calls: [] }, step: undefined };
}

/** The message as it was sent back to the gateway, which refuses arguments that are not JSON. */
function withoutRawArguments(message: AssistantMessage): AssistantMessage {
  if (message.tool_calls.every((call) => call.raw_arguments === null)) return message;
  const calls = message.tool_calls.map((call) =>
    call.raw_arguments === null ? call : { ...call, arguments: {}, raw_arguments: null },
  );
  return { ...message, tool_calls: calls };
}

function toToolMessage(result: ToolResultRecord): TranscriptMessage {
  const { tool_call_id, name, content, structured_content: structured, is_error } = result;
  const isObject = typeof structured === 'object' && structured !== null && !Array.isArray(structured);
  return { role: 'tool', tool_call_id, name, content, structured_content: isObject ? structured : null, is_error };
}
