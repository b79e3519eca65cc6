import type { EnvironmentClient } from '../client/environment-client.ts';
import type { AgentTool } from '../contract/chat.ts';
import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ChatModel, ModelDelta, ModelResponse } from '../model/chat-model.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { addRequestContent, addResponseContent } from '../telemetry/content.ts';
import { during, setChatResponse, startChatSpan } from '../telemetry/spans.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import type { TurnRecorder } from '../trace/event-recorder.ts';
import type { ResultBudget } from './result-budget.ts';
import { type AnsweredCall, answerToolCalls } from './tool-calls.ts';
import type { ToolMessage, Transcript } from './transcript.ts';

export interface AgentLoopOptions {
  readonly model: ChatModel;
  readonly client: EnvironmentClient;
  readonly tools: readonly AgentTool[];
  readonly readOnlyTools: ReadonlySet<string>;
  readonly sampling: JsonObject;
  readonly recorder: TurnRecorder;
  readonly signal: AbortSignal;
  readonly toolCallMs: number;
  readonly resultBudget: ResultBudget;
  readonly turn: number;
  /** Steps that earlier turns took; numbering goes on from there. */
  readonly stepsBefore: number;
  readonly maxSteps: number;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  /** Span of the run or the turn. */
  readonly span: TraceSpan;
}

/** Progress of a turn. It stays true when the loop throws. */
export interface TurnProgress {
  /** One for each completed step: the model answered, and so was each of its calls. */
  readonly responses: ModelResponse[];
  /** Wall time of the tools, in milliseconds: calls that ran together do not count twice. */
  toolMs: number;
}

/**
 * Model ⇄ tools, until the model answers without a call. A step is one response with all its calls; when `maxSteps`
 * are taken, the calls of the last response have been run and answered. Each step is durable before the next begins.
 *
 * @throws BoundaryError boundary `model` or `environment`; the reason of the signal; what the recorder failed with.
 *   The transcript is whole in each case: no call is left without a result.
 */
export async function runAgentLoop(
  transcript: Transcript,
  progress: TurnProgress,
  options: AgentLoopOptions,
): Promise<'answered' | 'max_steps' | 'length'> {
  const { recorder } = options;
  while (progress.responses.length < options.maxSteps) {
    const step = options.stepsBefore + progress.responses.length + 1;
    const response = await takeResponse(transcript, step, options);
    const calls = response.message.tool_calls;
    transcript.addResponse(response.message);
    progress.responses.push(response);
    // The last step is written with the end of its turn.
    if (calls.length === 0) return response.finishReason === 'length' ? 'length' : 'answered';
    const startedAt = performance.now();
    const { answered, interruption } = await answerToolCalls(calls, {
      ...options,
      step,
      finishReason: response.finishReason,
    });
    progress.toolMs += performance.now() - startedAt;
    transcript.addToolMessages(answered.map(toToolMessage));
    await recorder.settled();
    if (interruption !== null) throw interruption.thrown;
    options.model.checkResults?.(answered.map(toToolMessage));
  }
  return 'max_steps';
}

async function takeResponse(transcript: Transcript, step: number, options: AgentLoopOptions): Promise<ModelResponse> {
  const { recorder, turn } = options;
  const startedAt = performance.now();
  recorder.record({ type: 'model.requested', turn, step });
  const response = await during(startChatSpan(options.span, options.model.name, options.sampling), (span) =>
    askModel(transcript, options, span),
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

async function askModel(transcript: Transcript, options: AgentLoopOptions, span: TraceSpan): Promise<ModelResponse> {
  const { model, tools, sampling, onDelta } = options;
  const { messages } = transcript;
  const startedAt = performance.now();
  let firstChunkMs: number | undefined;
  addRequestContent(span, messages, tools);
  try {
    const response = await withDeadline(
      (signal) => {
        // A model that goes on after it was aborted is not heard any more.
        const whileOpen = (delta: ModelDelta) => {
          firstChunkMs ??= performance.now() - startedAt;
          if (!signal.aborted) onDelta?.(delta);
        };
        const isHeard = onDelta !== undefined || span.isRecording;
        return model.respond({ messages, tools, sampling, signal, ...(isHeard && { onDelta: whileOpen }) });
      },
      { signal: options.signal },
    );
    setChatResponse(span, response, firstChunkMs);
    addResponseContent(span, response.message, response.finishReason);
    return response;
  } catch (thrown) {
    if (options.signal.aborted) throw options.signal.reason;
    if (thrown instanceof BoundaryError) throw thrown;
    const message = `The model ${model.name} failed: ${messageOf(thrown)}`;
    throw new BoundaryError('model', 'model_failed', message, { cause: thrown });
  }
}

function toToolMessage({ call, result }: AnsweredCall): ToolMessage {
  return { role: 'tool', tool_call_id: call.id, name: call.name, ...result };
}
