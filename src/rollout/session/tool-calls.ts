import type { FinishReason, ToolCall } from '../../contract/chat.ts';
import { BoundaryError, messageOf } from '../../contract/errors.ts';
import { isJsonObject, type Json } from '../../contract/json.ts';
import { MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import type { EnvironmentClient, ToolResult } from '../../environment/client/environment-client.ts';
import { toErrorResult } from '../../environment/client/mcp-tools.ts';
import type { TurnRecorder } from '../../store/traces/event-recorder.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { addToolArguments, addToolResult } from '../../support/telemetry/content.ts';
import { failWith, startToolSpan } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { ResultBudget } from './result-budget.ts';

export interface ToolCallContext {
  readonly client: Pick<EnvironmentClient, 'call' | 'protocol' | 'transport'>;
  /** Names of the tools that are annotated with `readOnlyHint`. */
  readonly readOnlyTools: ReadonlySet<string>;
  readonly recorder: TurnRecorder;
  readonly turn: number;
  readonly step: number;
  readonly finishReason: FinishReason;
  readonly signal: AbortSignal;
  /** Milliseconds for one call. */
  readonly toolCallMs: number;
  readonly resultBudget: ResultBudget;
  /** Collects the calls that the environment has not answered, including stopped ones. */
  readonly unanswered?: Set<ToolCall> | undefined;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
}

export interface AnsweredCall {
  readonly call: ToolCall;
  readonly result: ToolResult;
}

export interface AnsweredCalls {
  /** Every call, in the order of the response. */
  readonly answered: readonly AnsweredCall[];
  /** The cause that stopped the calls early: the signal's reason or the environment's failure; null if none. */
  readonly interruption: { readonly thrown: unknown } | null;
}

/**
 * Runs the calls of one response in order, or concurrently if every tool is annotated as read-only. Every call gets a
 * result, so that the transcript can go on: malformed arguments are refused, a tool's failure is a result, and an
 * interruption closes open calls with an error.
 */
export async function answerToolCalls(calls: readonly ToolCall[], context: ToolCallContext): Promise<AnsweredCalls> {
  const state: { interruption: AnsweredCalls['interruption'] } = { interruption: null };
  const answer = async (call: ToolCall): Promise<AnsweredCall> => {
    const startedAt = performance.now();
    const { turn, step } = context;
    context.recorder.record({
      type: 'tool.called',
      turn,
      step,
      tool_call_id: call.id,
      name: call.name,
      arguments: call.arguments,
      raw_arguments: call.raw_arguments,
    });
    const span = startToolSpan(context.span, { name: call.name, id: call.id, step }, context.client);
    addToolArguments(span, call.raw_arguments ?? call.arguments);
    let result: ToolResult;
    let stored: ToolResult;
    try {
      if (state.interruption !== null) throw state.interruption.thrown;
      result = context.resultBudget.fit(await span.run(() => resultOf(call, { ...context, span })));
      if (result.is_error) span.fail('tool_error');
      stored = await toStoredResult(result, context.recorder);
    } catch (thrown) {
      const wasStarted = state.interruption === null;
      state.interruption ??= { thrown };
      result = toErrorResult(`The call was ${wasStarted ? 'stopped' : 'not run'}: ${messageOf(thrown)}`);
      stored = result;
      failWith(span, thrown);
    }
    addToolResult(span, stored);
    span.end();
    context.recorder.record({
      type: 'tool.responded',
      turn,
      step,
      tool_call_id: call.id,
      name: call.name,
      content: [...stored.content],
      structured_content: stored.structured_content,
      is_error: stored.is_error,
      duration_ms: Math.round(performance.now() - startedAt),
    });
    return { call, result };
  };
  const canRunTogether = calls.every((call) => context.readOnlyTools.has(call.name));
  const answered = await inOrder(calls, answer, canRunTogether ? MAX_TOGETHER : 1);
  return { answered, interruption: state.interruption };
}

/** Starts the work in order, with at most `atOnce` items in progress. */
async function inOrder<T, R>(items: readonly T[], work: (item: T) => Promise<R>, atOnce: number): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const workNext = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as T);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, workNext));
  return results;
}

/** Most read-only calls of one response that run concurrently. */
const MAX_TOGETHER = 16;

async function resultOf(call: ToolCall, context: ToolCallContext): Promise<ToolResult> {
  if (call.raw_arguments !== null) return toErrorResult(malformedText(call, call.raw_arguments, context.finishReason));
  const limit = {
    signal: context.signal,
    ms: context.toolCallMs,
    toError: (time: string) => new ToolLimitError(`The tool ${call.name} did not answer within ${time}`),
  };
  try {
    // This is the only time limit: 0 turns off the client's own.
    const { meta } = context.span;
    const { client, unanswered } = context;
    unanswered?.add(call);
    const result = await withDeadline(
      (signal) => client.call(call.name, call.arguments, { signal, timeoutMs: 0, meta }),
      limit,
    );
    unanswered?.delete(call);
    return result;
  } catch (thrown) {
    if (context.signal.aborted) throw context.signal.reason;
    if (thrown instanceof ToolLimitError) return toErrorResult(thrown.message);
    // The agent sees other failures as results, so this one has ended the environment.
    if (thrown instanceof BoundaryError) throw thrown;
    const message = `The environment failed at the call of ${call.name}: ${messageOf(thrown)}`;
    throw new BoundaryError('environment', 'environment_failed', message, { cause: thrown });
  }
}

class ToolLimitError extends Error {}

function malformedText(call: ToolCall, raw: string, finishReason: FinishReason): string {
  const cut = finishReason === 'length' ? ' The reply was cut at its token limit: send a shorter call.' : '';
  return `The call of ${call.name} was not run: its arguments ${problemOf(raw)}.${cut} They began with: ${raw.slice(0, 200)}`;
}

function problemOf(raw: string): string {
  try {
    const value: unknown = JSON.parse(raw);
    if (isJsonObject(value)) return `are nested more than ${MAX_INPUT_DEPTH} deep`;
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return `have to be a JSON object, not ${kind}`;
  } catch (error) {
    return `are not valid JSON (${messageOf(error)})`;
  }
}

/** The result in the format of the trace. A result from MCP is JSON, although its type is wider. */
async function toStoredResult(result: ToolResult, recorder: TurnRecorder): Promise<ToolResult> {
  const stored = await recorder.toStored({
    content: result.content,
    structured_content: result.structured_content,
  } as unknown as Json);
  return { ...(stored as unknown as Pick<ToolResult, 'content' | 'structured_content'>), is_error: result.is_error };
}
