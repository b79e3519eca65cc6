import type { ToolCall } from '../../contract/chat.ts';
import { BoundaryError, messageOf } from '../../contract/errors.ts';
import type { ChatModel, ModelDelta, ModelResponse } from '../../models/gateway/chat-model.ts';
import { withDeadline } from '../../support/runtime/deadline.ts';
import { addRequestContent, addResponseContent } from '../../support/telemetry/content.ts';
import { during, setChatResponse, startChatSpan } from '../../support/telemetry/spans.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { Agent, AgentTurn } from './agent.ts';
import { type AnsweredCall, answerToolCalls, type ToolCallContext } from './tool-calls.ts';
import type { ToolMessage } from './transcript.ts';

/**
 * Alternates between model and tools until the model answers without a call. A step is one response with all its calls.
 * After the last of `maxSteps`, its calls are still run. Each step is stored before the next begins.
 */
export class AgentLoop implements Agent {
  readonly #model: ChatModel;

  constructor(model: ChatModel) {
    this.#model = model;
  }

  async takeTurn(turn: AgentTurn): Promise<'answered' | 'max_steps' | 'length'> {
    const { transcript, progress } = turn;
    while (progress.responses.length < turn.maxSteps) {
      const step = turn.stepsBefore + progress.responses.length + 1;
      const response = await takeResponse(this.#model, step, turn);
      const calls = response.message.tool_calls;
      transcript.addResponse(response.message);
      progress.responses.push(response);
      // The last step is stored together with the end of its turn.
      if (calls.length === 0) return response.finishReason === 'length' ? 'length' : 'answered';
      const messages = await takeCalls(calls, { ...turn, step, finishReason: response.finishReason });
      this.#model.checkResults?.(messages);
    }
    return 'max_steps';
  }
}

/**
 * Runs the calls of a step, adds their results to the transcript, and waits until they are stored.
 *
 * @param shown maps a result to the message that the model gets. Default: the whole result.
 * @throws the cause of an interruption. The transcript has a result for every call even then.
 */
export async function takeCalls(
  calls: readonly ToolCall[],
  turn: Omit<AgentTurn, 'client'> & Pick<ToolCallContext, 'client' | 'step' | 'finishReason'>,
  shown: (message: ToolMessage, index: number) => ToolMessage = (message) => message,
): Promise<readonly ToolMessage[]> {
  const startedAt = performance.now();
  const { answered, interruption } = await answerToolCalls(calls, turn);
  turn.progress.toolMs += performance.now() - startedAt;
  const messages = answered.map((each, index) => shown(toToolMessage(each), index));
  turn.transcript.addToolMessages(messages);
  await turn.recorder.settled();
  if (interruption !== null) throw interruption.thrown;
  return messages;
}

async function takeResponse(model: ChatModel, step: number, agentTurn: AgentTurn): Promise<ModelResponse> {
  const { recorder, turn, span: parent, sampling } = agentTurn;
  const startedAt = performance.now();
  recorder.record({ type: 'model.requested', turn, step });
  const response = await during(startChatSpan(parent, model.name, sampling), (span) =>
    askModel(model, agentTurn, span),
  );
  recorder.record({
    type: 'model.responded',
    turn,
    step,
    message: response.message,
    finish_reason: response.finishReason,
    usage: response.usage,
    token_ids: response.tokenIds,
    logprobs: response.logprobs,
    retries: response.retries,
    duration_ms: Math.round(performance.now() - startedAt),
  });
  return response;
}

async function askModel(model: ChatModel, turn: AgentTurn, span: TraceSpan): Promise<ModelResponse> {
  const { tools, sampling, onDelta, onWait } = turn;
  const { messages } = turn.transcript;
  const startedAt = performance.now();
  let firstChunkMs: number | undefined;
  let hasText = false;
  addRequestContent(span, messages, tools);
  try {
    const response = await withDeadline(
      (signal) => {
        // Ignore the deltas of a model that continues after the abort.
        const whileOpen = (delta: ModelDelta) => {
          firstChunkMs ??= performance.now() - startedAt;
          hasText ||= Boolean(delta.content);
          if (!signal.aborted) onDelta?.(delta);
        };
        const isHeard = onDelta !== undefined || span.isRecording;
        return model.respond({ messages, tools, sampling, signal, onWait, ...(isHeard && { onDelta: whileOpen }) });
      },
      { signal: turn.signal },
    );
    const { content } = response.message;
    // A model that does not stream has its whole text in the response.
    if (!hasText && content) onDelta?.({ content });
    setChatResponse(span, response, firstChunkMs);
    addResponseContent(span, response.message, response.finishReason);
    return response;
  } catch (thrown) {
    if (turn.signal.aborted) throw turn.signal.reason;
    if (thrown instanceof BoundaryError) throw thrown;
    const message = `The model ${model.name} failed: ${messageOf(thrown)}`;
    throw new BoundaryError('model', 'model_failed', message, { cause: thrown });
  }
}

function toToolMessage({ call, result }: AnsweredCall): ToolMessage {
  return { role: 'tool', tool_call_id: call.id, name: call.name, ...result };
}
