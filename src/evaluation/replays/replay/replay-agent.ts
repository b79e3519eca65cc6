import type { ToolCall } from '../../../contract/chat.ts';
import { BoundaryError, type RunErrorCode } from '../../../contract/errors.ts';
import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import type { EventBody } from '../../../contract/service/event.ts';
import { MESSAGE_USER } from '../../../contract/service/seat.ts';
import type { Step, ToolResultRecord, Trace } from '../../../contract/service/trace.ts';
import { sumUsage } from '../../../contract/service/usage.ts';
import type { ModelResponse } from '../../../models/gateway/chat-model.ts';
import type { Agent, AgentTurn } from '../../../rollout/session/agent.ts';
import { takeCalls } from '../../../rollout/session/agent-loop.ts';
import type { ToolMessage } from '../../../rollout/session/transcript.ts';
import { answeringMessages, spokenIn } from '../../../rollout/session/user/message-user.ts';
import type { CallPlace } from './comparison.ts';
import type { RecordedTurn } from './recorded-trace.ts';

/** A turn to repeat. */
export interface RepeatedTurn extends RecordedTurn {
  /** Cuts the turn off at the same place as in the trace. */
  readonly cut: AbortController;
}

export interface RepeatingAgentOptions {
  readonly turns: readonly RepeatedTurn[];
  /** Error of the trace, for turns that failed. */
  readonly error: Trace['error'];
  /** Called with each result before it is recorded. @returns the event to record. */
  onResult(recorded: ToolResultRecord, place: CallPlace, event: ResultEvent): ResultEvent;
  /** The message of a result in the transcript, after `onResult`. */
  shown?(recorded: ToolResultRecord, message: ToolMessage): ToolMessage;
  /** Called before the first step of a turn and after each step. An error that it throws ends the turn. */
  beforeStep?(turn: AgentTurn): Promise<void>;
  /** Continues after the last repeated turn; undefined if the turn ends as recorded. */
  readonly successor?: Agent | undefined;
}

export type ResultEvent = Extract<EventBody, { type: 'tool.responded' }>;

const FREE = { ...sumUsage([]), cost_usd: 0 };

/** Repeats a trace without a model: it uses the recorded responses and makes the tool calls again. */
export class ReplayAgent implements Agent {
  readonly #options: RepeatingAgentOptions;
  #next = 0;

  constructor(options: RepeatingAgentOptions) {
    this.#options = options;
  }

  async takeTurn(turn: AgentTurn): Promise<'answered' | 'max_steps' | 'length'> {
    const { turns, successor, beforeStep } = this.#options;
    const recorded = turns[this.#next];
    this.#next += 1;
    // The conversation goes on, or an answer is repaired.
    if (recorded === undefined && successor !== undefined) return await successor.takeTurn(turn);
    if (recorded === undefined) throw new TypeError('More turns are played than were recorded');
    await beforeStep?.(turn);
    for (const step of recorded.steps) {
      turn.signal.throwIfAborted();
      await this.#repeat(step, turn);
      await beforeStep?.(turn);
    }
    for (const [index, call] of recorded.calls.entries()) {
      await this.#call([call], { step: OUTSIDE_STEPS, call: index + 1 }, { ...turn, step: OUTSIDE_STEPS });
    }
    if (successor !== undefined && this.#next === turns.length) return await successor.takeTurn(turn);
    switch (recorded.status) {
      case 'answered':
      case 'max_steps':
      case 'length':
        return recorded.status;
      default:
        return this.#cutOff(recorded);
    }
  }

  async #repeat(recorded: Step, turn: AgentTurn): Promise<void> {
    const { transcript, progress, recorder } = turn;
    const step = turn.stepsBefore + progress.responses.length + 1;
    const { message, finish_reason: finishReason, tool_results: results, branch } = recorded;
    // Only the request of an agent's step at a seat has the branch.
    if (branch !== undefined) recorder.record({ type: 'model.requested', turn: turn.turn, step, branch });
    recorder.record({
      type: 'model.responded',
      turn: turn.turn,
      step,
      message,
      finish_reason: finishReason,
      usage: FREE,
      token_ids: null,
      logprobs: null,
      retries: 0,
      duration_ms: 0,
      repeated: true,
    });
    transcript.addResponse(message);
    progress.responses.push(toResponse(recorded));
    if (results.length > 0)
      await this.#call(results, { step: recorded.step, call: 1 }, { ...turn, step, finishReason });
    else await recorder.settled();
  }

  /** Repeats only calls that the environment answered, because an agent may have its own tools. */
  async #call(
    results: readonly ToolResultRecord[],
    first: CallPlace,
    turn: AgentTurn & { readonly step: number; readonly finishReason?: Step['finish_reason'] },
  ): Promise<void> {
    const open = results.map((recorded, index) => ({ recorded, place: { ...first, call: first.call + index } }));
    // Concurrent calls may be answered in another order, and two may have the same id.
    const found = (event: ResultEvent) => {
      const at = open.findIndex(({ recorded }) => recorded.tool_call_id === event.tool_call_id);
      return open.splice(at, at === -1 ? 0 : 1)[0];
    };
    const record = (event: EventBody) => {
      const known = event.type === 'tool.responded' ? found(event) : undefined;
      if (event.type !== 'tool.responded' || known === undefined) turn.recorder.record(event);
      else turn.recorder.record(this.#options.onResult(known.recorded, known.place, event));
    };
    const { recorder, finishReason = 'tool_calls' } = turn;
    const watched = { record, settled: () => recorder.settled(), toStored: recorder.toStored.bind(recorder) };
    const client = withRecordedUser(turn, results);
    await takeCalls(results.map(toCall), { ...turn, client, finishReason, recorder: watched }, (message, index) => {
      const recorded = results[index];
      return recorded === undefined ? message : (this.#options.shown?.(recorded, message) ?? message);
    });
  }

  /** Ends a turn like the recorded one: with its failure or its abort. */
  #cutOff({ cut, status }: RepeatedTurn): never {
    const { error } = this.#options;
    cut.abort(status === 'failed' ? toRecordedError(error) : new Error('The recorded turn was cut off here'));
    throw cut.signal.reason;
  }
}

/** Makes an error from a trace's recorded one. */
export function toRecordedError(error: Trace['error']): BoundaryError {
  if (error === null) return new BoundaryError('worker', 'internal_error', 'The recorded turn failed here');
  // Codes of the failing side are kept as they are.
  return new BoundaryError(error.boundary, error.code as RunErrorCode, error.message, { status: error.status });
}

/** Replays the user's texts in tool results of an agent at a seat. The environment does not have this tool. */
function withRecordedUser({ client, tools, transcript }: AgentTurn, results: readonly ToolResultRecord[]) {
  const left = results.filter(({ name }) => name === MESSAGE_USER);
  if (left.length === 0 || tools.some(({ name }) => name === MESSAGE_USER)) return client;
  return answeringMessages(client, async (message) => {
    const at = left.findIndex(({ arguments: args }) => args.message === message);
    const [recorded] = left.splice(at, at === -1 ? 0 : 1);
    if (recorded === undefined) throw new TypeError(`The recorded agent has not said ${JSON.stringify(message)}`);
    const { content, is_error } = recorded;
    const reply = spokenIn(recorded);
    const replies = reply === null ? [] : [{ role: 'user' as const, content: reply }];
    if (!is_error) transcript.addSpoken({ role: 'assistant', content: message }, ...replies);
    return { content, structured_content: null, is_error };
  });
}

function toCall({ tool_call_id: id, name, arguments: args, raw_arguments }: ToolResultRecord): ToolCall {
  return { id, name, arguments: args, raw_arguments };
}

function toResponse({ message, finish_reason: finishReason }: Step): ModelResponse {
  return { message, finishReason, usage: FREE, tokenIds: null, logprobs: null, retries: 0 };
}
