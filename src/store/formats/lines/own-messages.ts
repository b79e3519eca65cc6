import type { AssistantMessage, ContentBlock } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { PromptMessage } from '../../../contract/scenario.ts';
import type { Step, ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import { withAddresses, withBytes } from '../addresses.ts';
import {
  fromExtension,
  type ResultExtension,
  type StepExtension,
  type TraceExtension,
  toResultExtension,
  toStepExtension,
  toTraceExtension,
} from '../extension.ts';
import type { WriteContext } from '../format.ts';
import { type ImportedTrace, openCall, type ReadContext, toResult } from '../imported-trace.ts';
import { isMain } from '../is-main.ts';

/** One message of the main conversation, for formats that hold a run as a list of messages. */
export type ToldMessage =
  | { readonly kind: 'said'; readonly message: PromptMessage; readonly turn: number }
  | { readonly kind: 'response'; readonly step: Step }
  | {
      readonly kind: 'result';
      readonly record: ToolResultRecord;
      readonly call: Call | undefined;
      readonly step: Step;
    };

type Call = AssistantMessage['tool_calls'][number];

/** Messages after the system text, in order. Messages before the first turn have the turn 0. */
export function* ownMessages(trace: Trace): Generator<ToldMessage> {
  if (trace.turns.length === 0) for (const message of trace.prompt) yield { kind: 'said', message, turn: 0 };
  for (const { turn, messages } of trace.turns) {
    for (const message of messages) yield { kind: 'said', message, turn };
    for (const step of trace.steps.filter((each) => each.turn === turn && isMain(each))) {
      yield { kind: 'response', step };
      for (const [index, record] of step.tool_results.entries()) {
        const before = { message: step.message, tool_results: step.tool_results.slice(0, index) };
        yield { kind: 'result', record, call: openCall(before, record.tool_call_id), step };
      }
    }
  }
}

/** The extension of a trace for a list-of-messages format: everything outside of the main conversation. */
export function toListExtension(trace: Trace, context: WriteContext): JsonObject {
  const beside = trace.steps.filter((step) => !isMain(step));
  return {
    ...toTraceExtension(trace, context),
    ...(trace.tool_calls === undefined ? {} : { outside: addressed(trace.tool_calls, context) }),
    ...(beside.length === 0 ? {} : { beside: addressed(beside, context) }),
  } as JsonObject; // It holds JSON values only.
}

/** The extension of a response, with the texts that were sent in place of arguments. */
export function toResponseExtension(step: Step): JsonObject {
  const raw = step.message.tool_calls.map(({ raw_arguments }) => raw_arguments);
  return { ...toStepExtension(step), ...(raw.every((each) => each === null) ? {} : { raw_arguments: raw }) };
}

/** The extension of a tool's result: all that its message and the call before it do not tell. */
export function toOwnResult(
  { record, call }: Extract<ToldMessage, { kind: 'result' }>,
  isContentKept: boolean,
  context: WriteContext,
): JsonObject {
  const known = {
    tool_call_id: record.tool_call_id,
    structured_content: null,
    is_error: false,
    ...(call && { name: call.name, arguments: call.arguments, raw_arguments: call.raw_arguments }),
    ...(isContentKept ? { content: record.content } : {}),
  };
  return toResultExtension(record, known, context);
}

/** Restores a trace from a list of messages that Proctor exported. */
export class OwnMessages {
  readonly #context: ReadContext;
  readonly #messages: { turn: number; message: PromptMessage }[] = [];
  readonly #steps: Step[] = [];

  constructor(context: ReadContext) {
    this.#context = context;
  }

  said(own: { readonly turn: number; readonly message?: PromptMessage | undefined }, told: () => PromptMessage): void {
    const message = own.message === undefined ? told() : withBytes(own.message, this.#context.bytesAt);
    this.#messages.push({ turn: own.turn, message });
  }

  response(own: StepExtension, calls: readonly Omit<Call, 'raw_arguments'>[]): void {
    const { content, reasoning, refusal, extra, raw_arguments: raw = [], ...fields } = own;
    const toolCalls = calls.map((call, index) => {
      const sent = raw[index] ?? null;
      return { ...call, arguments: sent === null ? call.arguments : {}, raw_arguments: sent };
    });
    const optional = { ...(refusal === undefined ? {} : { refusal }), ...(extra === undefined ? {} : { extra }) };
    const message = { role: 'assistant' as const, content, reasoning, ...optional, tool_calls: toolCalls };
    this.#steps.push({ ...fields, message, tool_results: [] });
  }

  result(own: ResultExtension, id: string, content: readonly ContentBlock[]): void {
    const step = this.#steps.at(-1);
    if (step === undefined) return;
    const call = openCall(step, id) ?? { id, name: '', arguments: {}, raw_arguments: null };
    const record = toResult(call, content, { raw_arguments: call.raw_arguments });
    // The schema dropped undefined fields.
    step.tool_results.push({ ...record, ...(withBytes(own, this.#context.bytesAt) as Partial<ToolResultRecord>) });
  }

  toTrace(extension: TraceExtension, tools: Trace['tools']): ImportedTrace {
    const told = { tools, steps: this.#steps, messages: this.#messages };
    const trace = fromExtension(extension, told, this.#context);
    if (extension.turns.length > 0) return trace;
    return { ...trace, prompt: this.#messages.map(({ message }) => message) };
  }
}

function addressed<T>(value: T, context: WriteContext): T {
  return withAddresses(value, 'steps[].tool_results[].content', context);
}
