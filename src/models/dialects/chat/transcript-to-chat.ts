import type { AgentTool, AssistantMessage, ContentBlock, TranscriptMessage } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import { cutToBytes } from '../../../support/text/cut-to-bytes.ts';
import { parseExtra } from './assistant-extra.ts';

/** A message in the format of OpenAI's chat completions. */
export type GatewayMessage = { readonly role: string; readonly [field: string]: unknown };

/** Longest tool result for the model, in bytes of UTF-8. The trace keeps the whole result. */
const MAX_TOOL_TEXT_BYTES = 32_768;

/**
 * Converts a transcript to messages of OpenAI's chat completions. Tool messages can hold only text and must directly
 * follow their calls. So the images of all results come after them, in one user message that names their calls. A call
 * without a result gets one here, because gateways refuse such a history.
 *
 * @param hasWholeResults sends whole tool results, for an outside agent that has cut them itself.
 */
export function toGatewayMessages(messages: readonly TranscriptMessage[], hasWholeResults = false): GatewayMessage[] {
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
      const text = hasWholeResults ? shown.text : cutToolText(shown.text);
      out.push(toolMessage(message.tool_call_id, text || '(no output)'));
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

/** A tool in the format of OpenAI's chat completions. */
export function toGatewayTool(tool: AgentTool): object {
  // `$schema` is useless to a model, and some gateways refuse it.
  const { $schema: _draft, ...parameters } = tool.input_schema;
  return { type: 'function', function: { name: tool.name, description: tool.description, parameters } };
}

function toolMessage(id: string, content: string): GatewayMessage {
  return { role: 'tool', tool_call_id: id, content };
}

function toContent(role: string, content: string | readonly ContentPart[]): unknown {
  if (typeof content === 'string') return content;
  const texts = content.map((part) => (part.type === 'text' ? part.text : `(${part.mimeType} image)`));
  // Some gateways accept text only as a string, and images are accepted only from the user.
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
    // An invalid name or invalid arguments would fail this and every later request of the transcript.
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

export type ToolMessage = Extract<TranscriptMessage, { role: 'tool' }>;

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
  return { text: texts.join('\n'), images };
}

function toImageMessage(images: readonly ToolImage[]): GatewayMessage {
  const parts = images.flatMap((image) => [{ type: 'text', text: image.label }, imagePart(image.data, image.mimeType)]);
  return { role: 'user', content: [{ type: 'text', text: 'The images that the tools returned:' }, ...parts] };
}

function imagePart(data: string, mimeType: string): object {
  return { type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } };
}

/** The image of a block: an image block, or an embedded resource with the bytes of an image. */
function imageOf(block: ContentBlock): { data: string; mimeType: string } | undefined {
  if (block.type === 'image' && typeof block.data === 'string') {
    return { data: block.data, mimeType: typeof block.mimeType === 'string' ? block.mimeType : 'image/png' };
  }
  const resource = resourceOf(block);
  const { blob, mimeType } = resource;
  const isImage = typeof blob === 'string' && typeof mimeType === 'string' && mimeType.startsWith('image/');
  return isImage ? { data: blob, mimeType } : undefined;
}

/** The text of a block, or a description of a block that a model cannot read. */
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

/** A tool result's text for the model: the first 32 KiB, with a note if there is more. */
export function cutToolText(text: string): string {
  const { kept, isCut } = cutToBytes(text, MAX_TOOL_TEXT_BYTES);
  if (!isCut) return text;
  return `${kept}\n(cut here: these are the first 32 KiB of ${Buffer.byteLength(text)} bytes)`;
}

/** True if the model gets less than the whole result. */
export function isCutForModel(message: ToolMessage): boolean {
  const { text } = showResult(message, 0);
  return text.length > MAX_TOOL_TEXT_BYTES / 3 && Buffer.byteLength(text) > MAX_TOOL_TEXT_BYTES;
}
