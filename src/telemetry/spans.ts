import { SpanKind } from '@opentelemetry/api';
import type { FinishReason, Usage } from '../contract/chat.ts';
import { ApiError, BoundaryError, messageOf } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Evaluation } from '../contract/scenario.ts';
import type { Origin } from '../contract/trace.ts';
import { GEN_AI } from './gen-ai-names.ts';
import type { SpanAttributes, TraceSpan } from './trace-span.ts';

export interface AgentCall {
  /** The environment's configured name. */
  readonly environment: string;
  /** Its short name. */
  readonly scenario: string;
  readonly model: string;
  readonly origin: Origin;
  /** From 1. */
  readonly attempt: number;
  /** The session, where somebody chats. */
  readonly conversation?: string | undefined;
  /** Milliseconds since 1970; default now. */
  readonly startTime?: number | undefined;
}

/** An attempt of a run, or a turn of a chat. */
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

/** How an environment is reached. */
export interface McpPeer {
  /** The revision that was agreed on. */
  readonly protocol: string;
  /** Undefined for one in this process. */
  readonly transport?: 'pipe' | 'tcp' | undefined;
}

/** A tool call of the model. It is the span of the MCP request too, which has none of its own. */
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

/** A request of the harness, such as the setup of a scenario. */
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

/** Sets what is known of the peer once it is connected. */
export function setPeer(span: TraceSpan, peer: McpPeer): void {
  span.set(peerAttributes('initialize', peer));
}

/** The evaluation, as an event and an attribute of the span that it belongs to. */
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

/** Waits for what happens in a span, and ends it: as failed where something is thrown, which is thrown on. */
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

/** Marks a span as failed by what was thrown. */
export function failWith(span: TraceSpan, thrown: unknown): void {
  if (span.isRecording) span.fail(toErrorType(thrown), messageOf(thrown));
}

function toErrorType(thrown: unknown): string {
  if (thrown instanceof BoundaryError || thrown instanceof ApiError) return thrown.code;
  return thrown instanceof Error ? thrown.name : 'error';
}

/** A gateway speaks OpenAI's protocol, whoever stands behind it. */
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
