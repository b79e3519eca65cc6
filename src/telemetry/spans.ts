import { SpanKind } from '@opentelemetry/api';
import type { FinishReason, Usage } from '../contract/chat.ts';
import { ApiError, BoundaryError, messageOf } from '../contract/errors.ts';
import type { Json, JsonObject } from '../contract/json.ts';
import type { Evaluation } from '../contract/scenario.ts';
import type { Origin } from '../contract/trace.ts';
import type { SpanAttributes, TraceSpan } from './trace-span.ts';

// Names as the GenAI and MCP conventions of OpenTelemetry have them. They are in development there, so that they are
// written out here: a library of names that moves would rename what people have built their views on.

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
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': toProvider(call.model),
    'gen_ai.agent.name': name,
    'gen_ai.request.model': call.model,
    ...(call.conversation === undefined ? {} : { 'gen_ai.conversation.id': call.conversation }),
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
    'gen_ai.usage.input_tokens': sum((usage) => usage.prompt_tokens),
    'gen_ai.usage.output_tokens': sum((usage) => usage.completion_tokens),
    'proctor.steps': usages.length,
  });
}

export function startChatSpan(parent: TraceSpan, model: string, sampling: JsonObject): TraceSpan {
  return parent.start(`chat ${model}`, SpanKind.CLIENT, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': toProvider(model),
    'gen_ai.request.model': model,
    'gen_ai.request.stream': true,
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
    'gen_ai.response.finish_reasons': [response.finishReason],
    ...(id == null ? {} : { 'gen_ai.response.id': id }),
    ...(model == null ? {} : { 'gen_ai.response.model': model }),
    ...(firstChunkMs === undefined ? {} : { 'gen_ai.response.time_to_first_chunk': firstChunkMs / 1_000 }),
    'gen_ai.usage.input_tokens': usage.prompt_tokens,
    'gen_ai.usage.output_tokens': usage.completion_tokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cached_tokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoning_tokens,
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
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.name,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.id,
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
    ...(hub === undefined ? {} : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': hub }),
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
  span.event('gen_ai.evaluation.result', {
    'gen_ai.evaluation.name': scenario,
    'gen_ai.evaluation.score.value': reward,
    'gen_ai.evaluation.score.label': reward >= 1 ? 'passed' : 'not_passed',
    ...(span.wantsContent && content !== null ? { 'gen_ai.evaluation.explanation': content } : {}),
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
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  top_k: 'gen_ai.request.top_k',
  max_tokens: 'gen_ai.request.max_tokens',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  seed: 'gen_ai.request.seed',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
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
