import { SpanKind } from '@opentelemetry/api';
import type { FinishReason, Usage } from '../../contract/chat.ts';
import { ApiError, BoundaryError, messageOf } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import type { Evaluation } from '../../contract/scenario.ts';
import type { Origin } from '../../contract/service/trace.ts';
import { GEN_AI } from './gen-ai-names.ts';
import type { SpanAttributes, TraceSpan } from './trace-span.ts';

export interface AgentCall {
  /** The environment's configured name. */
  readonly environment: string;
  /** Short name of the scenario. */
  readonly scenario: string;
  readonly model: string;
  readonly origin: Origin;
  /** Counted from 1. */
  readonly attempt: number;
  /** Id of the session, for a chat. */
  readonly conversation?: string | undefined;
  /** Milliseconds since 1970. Default: now. */
  readonly startTime?: number | undefined;
}

/** Starts the span of a run's attempt or of a chat turn. */
export function startAgentSpan(root: TraceSpan, call: AgentCall): TraceSpan {
  const name = `${call.environment}:${call.scenario}`;
  const attributes = {
    [GEN_AI.operationName]: 'invoke_agent',
    [GEN_AI.providerName]: toProvider(call.model),
    [GEN_AI.agentName]: name,
    [GEN_AI.requestModel]: call.model,
    ...(call.conversation === undefined ? {} : { [GEN_AI.conversationId]: call.conversation }),
    'proctor.environment': call.environment,
    'proctor.scenario': call.scenario,
    'proctor.origin': call.origin,
    'proctor.attempt': call.attempt,
  };
  return root.start(`invoke_agent ${name}`, SpanKind.INTERNAL, attributes, call.startTime);
}

/** Sets the token usage of the span's model calls. */
export function setUsage(span: TraceSpan, usages: readonly Usage[]): void {
  if (!span.isRecording) return;
  const sum = (of: (usage: Usage) => number) => usages.reduce((total, usage) => total + of(usage), 0);
  span.set({
    [GEN_AI.usageInputTokens]: sum((usage) => usage.prompt_tokens),
    [GEN_AI.usageOutputTokens]: sum((usage) => usage.completion_tokens),
    'proctor.steps': usages.length,
  });
}

export function startChatSpan(parent: TraceSpan, model: string, sampling: JsonObject): TraceSpan {
  return parent.start(`chat ${model}`, SpanKind.CLIENT, {
    [GEN_AI.operationName]: 'chat',
    [GEN_AI.providerName]: toProvider(model),
    [GEN_AI.requestModel]: model,
    [GEN_AI.requestStream]: true,
    ...requestAttributes(sampling),
  });
}

/** The parts of a response that a span records. */
export interface ChatSpanResponse {
  readonly finishReason: FinishReason;
  readonly usage: Usage;
  readonly retries: number;
  readonly id?: string | null | undefined;
  readonly model?: string | null | undefined;
}

export function setChatResponse(span: TraceSpan, response: ChatSpanResponse, firstChunkMs: number | undefined): void {
  if (!span.isRecording) return;
  const { usage, id, model } = response;
  span.set({
    [GEN_AI.responseFinishReasons]: [response.finishReason],
    ...(id == null ? {} : { [GEN_AI.responseId]: id }),
    ...(model == null ? {} : { [GEN_AI.responseModel]: model }),
    ...(firstChunkMs === undefined ? {} : { [GEN_AI.responseTimeToFirstChunk]: firstChunkMs / 1_000 }),
    [GEN_AI.usageInputTokens]: usage.prompt_tokens,
    [GEN_AI.usageOutputTokens]: usage.completion_tokens,
    [GEN_AI.usageCacheReadInputTokens]: usage.cached_tokens,
    [GEN_AI.usageReasoningOutputTokens]: usage.reasoning_tokens,
    'proctor.retries': response.retries,
  });
}

/** Facts about the connection to an environment. */
export interface McpPeer {
  /** The negotiated protocol revision. */
  readonly protocol: string;
  /** Undefined for an environment in this process. */
  readonly transport?: 'pipe' | 'tcp' | undefined;
}

/** Starts the span of a model's tool call. It also covers the MCP request, which has no span of its own. */
export function startToolSpan(
  parent: TraceSpan,
  call: { readonly name: string; readonly id: string; readonly step: number },
  peer: McpPeer,
): TraceSpan {
  return parent.start(`execute_tool ${call.name}`, SpanKind.INTERNAL, {
    [GEN_AI.operationName]: 'execute_tool',
    [GEN_AI.toolName]: call.name,
    [GEN_AI.toolType]: 'function',
    [GEN_AI.toolCallId]: call.id,
    'proctor.step': call.step,
    ...peerAttributes('tools/call', peer),
  });
}

/** Starts the span of a harness request, such as the setup of a scenario. */
export function startMcpSpan(
  parent: TraceSpan,
  method: string,
  peer: McpPeer = { protocol: '' },
  hub?: string,
): TraceSpan {
  return parent.start(hub === undefined ? method : `${method} ${hub}`, SpanKind.CLIENT, {
    ...(hub === undefined ? {} : { [GEN_AI.operationName]: 'execute_tool', [GEN_AI.toolName]: hub }),
    ...peerAttributes(method, peer),
  });
}

/** Sets the attributes of the peer once it is connected. */
export function setPeer(span: TraceSpan, peer: McpPeer): void {
  span.set(peerAttributes('initialize', peer));
}

/** Adds the evaluation to a span, as an event and an attribute. */
export function addEvaluation(span: TraceSpan, scenario: string, evaluation: Evaluation): void {
  if (!span.isRecording) return;
  const { reward, content } = evaluation;
  span.set({ 'proctor.reward': reward });
  span.event(GEN_AI.evaluationResult, {
    [GEN_AI.evaluationName]: scenario,
    [GEN_AI.evaluationScoreValue]: reward,
    [GEN_AI.evaluationScoreLabel]: reward >= 1 ? 'passed' : 'not_passed',
    ...(span.wantsContent && content !== null ? { [GEN_AI.evaluationExplanation]: content } : {}),
  });
}

/** Runs work in a span and ends the span afterwards. An error marks the span as failed and is thrown again. */
export async function during<Result>(span: TraceSpan, work: (span: TraceSpan) => Promise<Result>): Promise<Result> {
  try {
    return await span.run(() => work(span));
  } catch (thrown) {
    failWith(span, thrown);
    throw thrown;
  } finally {
    span.end();
  }
}

/** Marks a span as failed with a thrown error. */
export function failWith(span: TraceSpan, thrown: unknown): void {
  if (span.isRecording) span.fail(toErrorType(thrown), messageOf(thrown));
}

function toErrorType(thrown: unknown): string {
  if (thrown instanceof BoundaryError || thrown instanceof ApiError) return thrown.code;
  return thrown instanceof Error ? thrown.name : 'error';
}

/** Provider name of a model. Gateways speak OpenAI's protocol, whatever model they use. */
function toProvider(model: string): string {
  return model.startsWith('proctor/') ? 'proctor' : 'openai';
}

const REQUEST_ATTRIBUTES = {
  temperature: GEN_AI.requestTemperature,
  top_p: GEN_AI.requestTopP,
  top_k: GEN_AI.requestTopK,
  max_tokens: GEN_AI.requestMaxTokens,
  max_completion_tokens: GEN_AI.requestMaxTokens,
  seed: GEN_AI.requestSeed,
  frequency_penalty: GEN_AI.requestFrequencyPenalty,
  presence_penalty: GEN_AI.requestPresencePenalty,
} as const;

function requestAttributes(sampling: JsonObject): SpanAttributes {
  const numbers = Object.entries(REQUEST_ATTRIBUTES).flatMap(([field, name]) => {
    const value: Json | undefined = sampling[field];
    return typeof value === 'number' ? [[name, value] as const] : [];
  });
  return Object.fromEntries(numbers);
}

function peerAttributes(method: string, { protocol, transport }: McpPeer): SpanAttributes {
  return {
    'mcp.method.name': method,
    ...(protocol === '' ? {} : { 'mcp.protocol.version': protocol }),
    ...(transport === undefined ? {} : { 'network.transport': transport }),
  };
}
