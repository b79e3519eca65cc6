import type { AgentTool, AssistantMessage, ContentBlock, TranscriptMessage } from '../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';
import type { ContentPart } from '../contract/scenario.ts';
import { cutToBytes } from '../text/cut-to-bytes.ts';
import { parseExtra } from './assistant-extra.ts';

/** A message as OpenAI's chat completions takes it. */
export type GatewayMessage = { readonly role: string; readonly [field: string]: unknown };

/** Limit of a tool result for the model, in bytes of UTF-8; the trace keeps all of it. Our choice. */
const MAX_TOOL_TEXT_BYTES = 32_768;

/**
 * A transcript as messages of OpenAI's chat completions. Tool messages can hold text alone, and have to follow their
 * calls without a gap: the images of all results of a response come after them, in one user message that says whose
 * they are. A call that nobody answered is answered here, because gateways refuse such a history.
 */
export function toGatewayMessages(messages: readonly TranscriptMessage[]): GatewayMessage[] {
  const out: GatewayMessage[] = [];
  let unanswered: AssistantMessage['tool_calls'] = [];
  let images: ToolImage[] = [];
  const endResults = () => {
    for (const call of unanswered) out.push(toolMessage(call.id, '(this call was not run)'));
    if (images.length > 0) out.push(toImageMessage(images));
    unanswered = [];
    images = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      unanswered = unanswered.filter((call) => call.id !== message.tool_call_id);
      const shown = showResult(message, images.length);
      out.push(toolMessage(message.tool_call_id, shown.text));
      images.push(...shown.images);
      continue;
    }
    endResults();
    if (message.role === 'assistant') {
      out.push(toAssistantMessage(message));
      unanswered = message.tool_calls;
    } else {
      out.push({ role: message.role, content: toContent(message.role, message.content) });
    }
  }
  endResults();
  return out;
}

/** A tool as OpenAI's chat completions offers it. */
export function toGatewayTool(tool: AgentTool): object {
  // Which draft it is, is of no use to a model, and some gateways refuse the keyword.
  const { $schema: _draft, ...parameters } = tool.input_schema;
  return { type: 'function', function: { name: tool.name, description: tool.description, parameters } };
}

function toolMessage(id: string, content: string): GatewayMessage {
  return { role: 'tool', tool_call_id: id, content };
}

function toContent(role: string, content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  const texts = content.map((part) => (part.type === 'text' ? part.text : `(${part.mimeType} image)`));
  // Some gateways take text only as a string, and nobody takes images but from the user.
  if (role !== 'user' || content.every((part) => part.type === 'text')) return texts.join('\n');
  return content.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : imagePart(part.data, part.mimeType),
  );
}

function toAssistantMessage(message: AssistantMessage): GatewayMessage {
  const extra = parseExtra(message);
  const calls = message.tool_calls.map((call) => ({
    ...extra.toolCalls[call.id],
    id: call.id,
    type: 'function',
    // A name or arguments that a gateway refuses would fail this and every later request of the transcript.
    function: { name: toValidName(call.name), arguments: JSON.stringify(call.arguments) },
  }));
  return {
    ...extra.message,
    ...(extra.reasoningField === undefined ? {} : { [extra.reasoningField]: message.reasoning }),
    ...(message.refusal ? { refusal: message.refusal } : {}),
    role: 'assistant',
    content: message.content ?? (calls.length > 0 ? null : ''),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
}

function toValidName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';
}

type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

interface ToolImage {
  readonly label: string;
  readonly data: string;
  readonly mimeType: string;
}

function showResult(message: ToolMessage, imagesBefore: number): { text: string; images: ToolImage[] } {
  const images: ToolImage[] = [];
  const texts: string[] = [];
  for (const block of message.content) {
    const image = imageOf(block);
    if (image === undefined) {
      texts.push(textOfBlock(block));
    } else {
      const number = imagesBefore + images.length + 1;
      images.push({ ...image, label: `Image ${number}, from ${message.name} (call ${message.tool_call_id}):` });
      texts.push(`(image ${number}: see the message after the tool results)`);
    }
  }
  if (!message.content.some((block) => block.type === 'text') && message.structured_content) {
    texts.unshift(JSON.stringify(message.structured_content));
  }
  return { text: cutToolText(texts.join('\n')) || '(no output)', images };
}

function toImageMessage(images: readonly ToolImage[]): GatewayMessage {
  const parts = images.flatMap((image) => [{ type: 'text', text: image.label }, imagePart(image.data, image.mimeType)]);
  return { role: 'user', content: [{ type: 'text', text: 'The images that the tools returned:' }, ...parts] };
}

function imagePart(data: string, mimeType: string): object {
  return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } };
}

/** The image of a block: an image block, or an embedded resource whose bytes are one. */
function imageOf(block: ContentBlock): { data: string; mimeType: string } | undefined {
  if (block.type === 'image' && typeof block.data === 'string') {
    return { data: block.data, mimeType: typeof block.mimeType === 'string' ? block.mimeType : 'image/png' };
  }
  const resource = resourceOf(block);
  const { blob, mimeType } = resource;
  const isImage = typeof blob === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/');
  return isImage ? { data: blob, mimeType } : undefined;
}

/** The text of a block, or the kind of a block that a model cannot read. */
function textOfBlock(block: ContentBlock): string {
  if (block.type === 'text') return String(block.text ?? '');
  if (block.type === 'resource_link') return `(resource ${String(block.name ?? '')}: ${String(block.uri ?? '')})`;
  const resource = resourceOf(block);
  if (typeof resource.text === 'string') return resource.text;
  if (block.type === 'resource') return `(resource ${String(resource.uri ?? '')}, which is not text)`;
  return `(${block.type} content, which is not text)`;
}

function resourceOf(block: ContentBlock): JsonObject {
  return block.type === 'resource' && isJsonObject(block.resource) ? block.resource : {};
}

/** Text of a tool's result as a model gets it: the first 32 KiB, and a note where there is more. */
export function cutToolText(text: string): string {
  const { kept, isCut } = cutToBytes(text, MAX_TOOL_TEXT_BYTES);
  if (!isCut) return text;
  return `${kept}\n(cut here: these are the first 32 KiB of ${Buffer.byteLength(text)} bytes)`;
}
