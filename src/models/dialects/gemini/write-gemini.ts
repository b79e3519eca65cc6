import type { FinishReason, ToolCall, Usage } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { DialectError, DialectRequest, ErrorReply, ListedModel, ReplyHead } from '../dialect.ts';
import type { ModelOutput } from '../model-output.ts';
import { signReasoning } from '../reasoning-signature.ts';

/** Body of an answer of Gemini. */
export function writeGeminiResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject {
  const { message } = output;
  const text = (message.content ?? '') + (message.refusal ?? '');
  const parts: JsonObject[] = [];
  if (message.reasoning) parts.push({ text: message.reasoning, thought: true });
  if (text !== '') parts.push({ text });
  parts.push(...callParts(output, request));
  return lastChunk(parts.length > 0 ? parts : [{ text: '' }], output, head);
}

/** The calls of a response. The first one carries the signature of the reasoning. */
export function callParts({ message }: ModelOutput, { names }: DialectRequest): JsonObject[] {
  const signature = message.reasoning ? Buffer.from(signReasoning(message.reasoning)).toString('base64') : undefined;
  return message.tool_calls.map((call: ToolCall, index) => ({
    functionCall: { id: call.id, name: names.toOwn(call.name).own_name, args: call.arguments },
    // Base64, because some clients decode it.
    ...(index === 0 && signature !== undefined ? { thoughtSignature: signature } : {}),
  }));
}

/** One chunk of an answer. */
export function chunkOf(parts: JsonObject[], head: ReplyHead, candidate: JsonObject = {}): JsonObject {
  const content = { role: 'model', parts };
  return {
    candidates: [{ content, index: 0, ...candidate }],
    modelVersion: head.model,
    responseId: head.id,
    ...head.extra,
  };
}

export function lastChunk(parts: JsonObject[], { finishReason, usage }: ModelOutput, head: ReplyHead): JsonObject {
  const chunk = chunkOf(parts, head, { finishReason: FINISH_REASONS[finishReason] });
  return { ...chunk, usageMetadata: toUsageMetadata(usage) };
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
};

/** Gemini counts thoughts separately from the candidates' tokens. */
function toUsageMetadata(usage: Usage): JsonObject {
  return {
    promptTokenCount: usage.prompt_tokens,
    candidatesTokenCount: Math.max(0, usage.completion_tokens - usage.reasoning_tokens),
    totalTokenCount: usage.total_tokens,
    thoughtsTokenCount: usage.reasoning_tokens,
    cachedContentTokenCount: usage.cached_tokens,
  };
}

export function writeGeminiError(error: DialectError): ErrorReply {
  return { status: error.status, headers: error.headers, body: toGeminiError(error) };
}

/** Body of an error. Proctor's error code and the field at fault are details in Google's format. */
export function toGeminiError({ status, message, code, param }: DialectError): JsonObject {
  const name = STATUS_NAMES[status] ?? (status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
  const details: JsonObject[] = [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code, domain: 'proctor' },
  ];
  if (param !== null) {
    const fieldViolations = [{ field: param, description: message }];
    details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
  }
  return { error: { code: status, message, status: name, details } };
}

const STATUS_NAMES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

export function writeGeminiModels(models: readonly ListedModel[]): JsonObject {
  return { models: models.map(writeGeminiModel) };
}

export function writeGeminiModel({ name }: ListedModel): JsonObject {
  const supportedGenerationMethods = ['generateContent', 'streamGenerateContent', 'countTokens'];
  return { name: `models/${name}`, baseModelId: name, version: '1', displayName: name, supportedGenerationMethods };
}
