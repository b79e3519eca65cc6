import type { AgentTool } from '../../contract/chat.ts';
import { textOfContent } from '../../contract/content-text.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { Step, ToolResultRecord, Trace } from '../../contract/service/trace.ts';
import {
  type GatewayMessage,
  toGatewayMessages,
  toGatewayTool,
} from '../../models/dialects/chat/transcript-to-chat.ts';
import type { WriteContext } from './format.ts';
import { isMain } from './is-main.ts';
import type { Losses } from './losses.ts';
import { type TracedMessage, toTranscript } from './trace-transcript.ts';

/** A call in the form of OpenAI's chat completions. */
export interface LineCall {
  readonly id: string;
  readonly type: 'function';
  /** `arguments` is the text of a JSON object. */
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * A message in the form of OpenAI's chat completions. The only value of `weight` is 0: the message is not trained on.
 */
export interface LineMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly LineCall[];
  readonly tool_call_id?: string;
  readonly refusal?: string;
  readonly weight?: 0;
  /** The reasoning of the model, under the field name of its provider. */
  readonly reasoning_content?: string;
  readonly reasoning?: string;
}

/** All messages and responses of a model, in one line for a trainer. */
export interface Conversation {
  readonly messages: readonly LineMessage[];
  readonly tools: readonly object[];
}

export interface ConversationOptions {
  /** Default `keep`. */
  readonly reasoning?: 'keep' | 'drop' | undefined;
  /**
   * True when arguments match a tool's schema. Called only when the result of the call is an error. Default: the result
   * decides.
   */
  readonly fitsSchema?: ((tool: AgentTool, args: JsonObject) => boolean) | undefined;
}

/**
 * The conversation of a trace: exactly the messages that its model received and wrote. `weight: 0` marks messages not
 * to learn: responses with a call that no schema allows, and assistant messages that the model did not write.
 *
 * @returns undefined when no model was asked. Losses are noted in `context`.
 */
export function toConversation(
  trace: Trace,
  context: WriteContext,
  options: ConversationOptions = {},
): Conversation | undefined {
  if (!trace.steps.some(isMain)) {
    context.losses.add('trace', 'no model was asked, so that there is nothing to train on');
    return undefined;
  }
  const transcript = toTranscript(trace).map((each) => withoutExtras(each, context.losses, options));
  const assistants = transcript.filter(({ message }) => message.role === 'assistant').values();
  const sent = toGatewayMessages(transcript.map(({ message }) => message));
  const messages = sent.map((message) => {
    if (message.role === 'user') return withAddresses(message, context);
    if (message.role !== 'assistant') return message;
    const step = assistants.next().value?.step;
    const isTrained = step !== undefined && !hasFailedCall(step, trace.tools, options);
    return isTrained ? message : { ...message, weight: 0 };
  });
  // The gateway's messages have the same fields.
  return { messages: messages as unknown as readonly LineMessage[], tools: trace.tools.map(toGatewayTool) };
}

/** Removes fields that only one provider uses. */
function withoutExtras({ message, step }: TracedMessage, losses: Losses, options: ConversationOptions): TracedMessage {
  if (message.role !== 'assistant') return { message, step };
  const { extra, ...kept } = message;
  if (extra?.message !== undefined || extra?.tool_calls !== undefined) {
    losses.add('steps[].message.extra', 'fields of one provider have no place in a line for others');
  }
  if (message.reasoning === null) return { message: kept, step };
  if (options.reasoning === 'drop') return { message: { ...kept, reasoning: null }, step };
  return { message: { ...kept, extra: { reasoning_field: extra?.reasoning_field ?? 'reasoning_content' } }, step };
}

/**
 * True for a response with an invalid call: arguments that are not JSON or do not match the schema, or a tool that was
 * not offered.
 */
export function hasFailedCall(step: Step, tools: readonly AgentTool[], options: ConversationOptions): boolean {
  return step.message.tool_calls.some((call, index) => {
    const tool = tools.find(({ name }) => name === call.name);
    if (tool === undefined || call.raw_arguments !== null) return true;
    const result = step.tool_results[index];
    return result?.is_error === true && isRefused(result, tool, options);
  });
}

function isRefused(result: ToolResultRecord, tool: AgentTool, { fitsSchema }: ConversationOptions): boolean {
  if (fitsSchema !== undefined && !fitsSchema(tool, result.arguments)) return true;
  return textOfContent(result.content).startsWith(`Invalid arguments of ${tool.name}: `);
}

/** Replaces the images of a user's message by their addresses in the file. */
function withAddresses(message: GatewayMessage, context: WriteContext): GatewayMessage {
  const { content } = message;
  if (!Array.isArray(content)) return message;
  return { ...message, content: content.map((part: unknown) => toAddressed(part, context)) };
}

function toAddressed(part: unknown, context: WriteContext): unknown {
  const url = imageUrlOf(part);
  const [, mimeType, data] = (url === undefined ? null : DATA_URL.exec(url)) ?? [];
  if (mimeType === undefined || data === undefined) return part;
  const address = context.addressOf({ mimeType, data });
  if (address !== undefined) return { type: 'image_url', image_url: { url: address } };
  context.losses.add('images', 'the bytes are gone');
  return { type: 'text', text: `(${mimeType} image)` };
}

const DATA_URL = /^data:([^;,]*);base64,(.*)$/s;

/** The URL of an OpenAI image part; undefined for any other part. */
function imageUrlOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null || !('image_url' in part)) return undefined;
  const { image_url: image } = part;
  if (typeof image !== 'object' || image === null || !('url' in image)) return undefined;
  return typeof image.url === 'string' ? image.url : undefined;
}

/** True when a message has image parts, which text trainers cannot use. */
export function hasImages({ messages }: Conversation): boolean {
  return messages.some(({ content }) => Array.isArray(content) && content.some((part) => imageUrlOf(part)));
}

/** The text of a message: its text parts joined by line breaks, or "". */
export function textOf({ content }: LineMessage): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : ''));
  return texts.join('\n');
}

/** A call with its arguments as an object, for trainers that expect one. */
export function withParsedArguments({ id, function: called }: LineCall) {
  return {
    id,
    type: 'function',
    function: { name: called.name, arguments: JSON.parse(called.arguments) as JsonObject },
  };
}
