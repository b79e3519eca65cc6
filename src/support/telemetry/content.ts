import type { AgentTool, AssistantMessage, TranscriptMessage } from '../../contract/chat.ts';
import type { Json } from '../../contract/json.ts';
import { GEN_AI } from './gen-ai-names.ts';
import type { TraceSpan } from './trace-span.ts';

/** Replacement for the bytes of an image, which are too large for a span. */
const NO_BYTES = '[not exported]';

/** Adds the model's input and output in the form of the GenAI conventions, if content capture is on. */
export function addRequestContent(
  span: TraceSpan,
  messages: readonly TranscriptMessage[],
  tools: readonly AgentTool[],
): void {
  if (!span.wantsContent) return;
  const [system, rest] = partition(messages, ({ role }) => role === 'system' || role === 'developer');
  if (system.length > 0) span.setContent(GEN_AI.systemInstructions, system.flatMap(toParts));
  span.setContent(
    GEN_AI.inputMessages,
    rest.map((message) => ({ role: message.role, parts: toParts(message) })),
  );
  span.setContent(
    GEN_AI.toolDefinitions,
    tools.map(({ name, description, input_schema }) => ({
      type: 'function',
      name,
      description,
      parameters: input_schema,
    })),
  );
}

export function addResponseContent(span: TraceSpan, message: AssistantMessage, finishReason: string): void {
  if (!span.wantsContent) return;
  const output = { role: 'assistant', parts: toParts(message), finish_reason: finishReason };
  span.setContent(GEN_AI.outputMessages, [output]);
}

export function addToolArguments(span: TraceSpan, args: unknown): void {
  span.setContent(GEN_AI.toolCallArguments, args);
}

export function addToolResult(
  span: TraceSpan,
  result: { readonly content: readonly object[]; readonly structured_content: unknown },
): void {
  if (!span.wantsContent) return;
  const { content, structured_content } = result;
  // The conventions require an object.
  span.setContent(GEN_AI.toolCallResult, structured_content ?? { content: content.map(toContentPart) });
}

interface Part {
  readonly type: string;
  readonly [name: string]: unknown;
}

function toParts(message: TranscriptMessage): readonly Part[] {
  if (message.role === 'tool') {
    const response = message.structured_content ?? message.content.map(toContentPart);
    return [{ type: 'tool_call_response', id: message.tool_call_id, response }];
  }
  if (message.role !== 'assistant') {
    const { content } = message;
    return typeof content === 'string' ? [{ type: 'text', content }] : content.map(toContentPart);
  }
  return [
    ...(message.reasoning === null ? [] : [{ type: 'reasoning', content: message.reasoning }]),
    ...(message.content === null || message.content === '' ? [] : [{ type: 'text', content: message.content }]),
    ...message.tool_calls.map(({ id, name, arguments: args, raw_arguments }) => ({
      type: 'tool_call',
      id,
      name,
      arguments: raw_arguments ?? (args as Json),
    })),
  ];
}

function toContentPart(part: object): Part {
  const type = 'type' in part && typeof part.type === 'string' ? part.type : 'unknown';
  if (type === 'text' && 'text' in part) return { type, content: part.text };
  const mimeType = 'mimeType' in part ? { mime_type: part.mimeType } : {};
  return { type, ...mimeType, content: NO_BYTES };
}

function partition<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): readonly [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
