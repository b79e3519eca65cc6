import { isDeepStrictEqual } from 'node:util';
import type { JsonObject, JsonSchema } from '../../contract/json.ts';
import type { FinishedSession, SessionStatus } from '../../contract/session.ts';
import type { Trace } from '../../contract/trace.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import type { AccountSessions } from '../account-sessions.ts';
import { finishSession } from '../session-routes.ts';
import { type Frame, toMessage, toToolResultFrame } from './frames.ts';
import { hasTextAnswer } from './turn-stream.ts';

/** A session that a page which was loaded anew shows again. */
export interface KeptSession {
  readonly session_id: string;
  /** Its full name. */
  readonly scenario: string;
  readonly scenario_args: JsonObject;
  readonly model: string;
  readonly trace_url: string;
  readonly status: SessionStatus;
  /** True while a turn or its end goes on, which the page cannot follow: it asks again in a moment. */
  readonly is_busy: boolean;
  /** Complete ones, of turns that failed, too. */
  readonly steps: number;
  /** Why it failed. */
  readonly message: string | null;
  /** What each of its turns showed. */
  readonly turns: readonly (readonly Frame[])[];
  /** Where it was evaluated. */
  readonly result: FinishedSession | null;
}

export interface KeptSessionOptions {
  /** Those of whoever is signed in. */
  readonly sessions: AccountSessions;
  readonly store: TraceStore;
  toTraceUrl(traceId: string): string;
}

/**
 * Reads a session, active or ended, with its conversation so far, of which the trace has everything.
 *
 * @throws ApiError session_not_found.
 */
export async function readKeptSession(
  { sessions, store, toTraceUrl }: KeptSessionOptions,
  id: string,
): Promise<KeptSession> {
  const session = sessions.held(id);
  const isBusy = session?.isBusy === true;
  const record = await sessions.record(id);
  const trace = await store.trace(record.traceId);
  const answerSchema = session?.setup?.answer_schema ?? null;
  const isEvaluated = record.status === 'finished' || record.status === 'expired';
  return {
    session_id: id,
    scenario: `${trace?.env_name ?? ''}:${record.scenario}`,
    scenario_args: record.args,
    model: record.model,
    trace_url: toTraceUrl(record.traceId),
    status: record.status,
    is_busy: isBusy,
    steps: trace?.steps.length ?? 0,
    message: record.message,
    turns: trace === undefined ? [] : toTurns(trace, { answerSchema, hasFailed: record.status === 'failed' }),
    result: isEvaluated ? await finishSession(sessions, id, undefined, toTraceUrl) : null,
  };
}

interface Known {
  /** Null for a session that has ended too: nobody is asked for its answer. */
  readonly answerSchema: JsonSchema | null;
  /** The session says then why its last turn failed. */
  readonly hasFailed: boolean;
}

function toTurns(trace: Trace, { answerSchema, hasFailed }: Known): readonly (readonly Frame[])[] {
  return trace.turns.map((turn, index) => [
    ...(index === 0 ? [promptOf(trace, answerSchema)] : []),
    ...messagesOf(trace, index),
    ...trace.steps.filter(({ turn: of }) => of === turn.turn).flatMap(toStepFrames),
    ...(hasFailed && index === trace.turns.length - 1 ? [] : endOf(trace, index)),
  ]);
}

function promptOf({ system, prompt }: Trace, answer_schema: JsonSchema | null): Frame {
  const has_text_answer = hasTextAnswer({ answer_schema });
  return { type: 'prompt', system, messages: prompt.map(toMessage), has_text_answer, answer_schema };
}

/** A first turn that nobody said anything in has the prompt for its messages. */
function messagesOf({ turns, prompt }: Trace, index: number): readonly Frame[] {
  const messages = turns[index]?.messages ?? [];
  if (index === 0 && isDeepStrictEqual(messages, prompt)) return [];
  return messages.map((message) => ({ type: 'message', ...toMessage(message) }));
}

function toStepFrames({ step, message, tool_results }: Trace['steps'][number]): readonly Frame[] {
  const { content, reasoning } = message;
  return [
    { type: 'step', step },
    ...(reasoning ? [{ type: 'reasoning', text: reasoning } as const] : []),
    ...(content ? [{ type: 'text', text: content } as const] : []),
    ...tool_results.flatMap((result): Frame[] => {
      const { tool_call_id: id, name, arguments: args } = result;
      return [{ type: 'tool_call', id, name, arguments: args }, toToolResultFrame(result)];
    }),
  ];
}

/** How a turn ended. Why one failed was said to who saw it; the trace has it no more. */
function endOf({ turns, steps }: Trace, index: number): readonly Frame[] {
  const turn = turns[index];
  if (turn === undefined || turn.status === 'running') return [];
  if (turn.status === 'failed' || turn.status === 'aborted') {
    const what = turn.status === 'failed' ? 'This turn failed.' : 'This turn was stopped.';
    const message = `${what} What the model had done before is kept.`;
    return [{ type: 'failed', message, status: 'active' }];
  }
  const last = steps.findLast(({ turn: of }) => of === turn.turn);
  const done = steps.filter(({ turn: of }) => of <= turn.turn).length;
  const isFiltered = turn.status === 'answered' && last?.finish_reason === 'content_filter';
  const reason = turn.status === 'answered' ? 'stop' : 'length';
  return [{ type: 'answered', finish_reason: isFiltered ? 'content_filter' : reason, steps: done }];
}
