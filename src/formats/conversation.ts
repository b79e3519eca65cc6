import type { AgentTool } from '../contract/chat.ts';
import { textOfContent } from '../contract/content-text.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Step, ToolResultRecord, Trace } from '../contract/trace.ts';
import { type GatewayMessage, toGatewayMessages, toGatewayTool } from '../dialects/chat/transcript-to-chat.ts';
import type { WriteContext } from './format.ts';
import { isMain } from './is-main.ts';
import type { Losses } from './losses.ts';
import { type TracedMessage, toTranscript } from './trace-transcript.ts';

/** A call as OpenAI's chat completions writes it. */
export interface LineCall {
  readonly id: string;
  readonly type: 'function';
  /** `arguments` is the text of a JSON object. */
  readonly function: { readonly name: string; readonly arguments: string };
}

/** One message as OpenAI's chat completions has it; of `weight`, 0 alone is ever there: it is not trained on. */
export interface LineMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly LineCall[];
  readonly tool_call_id?: string;
  readonly refusal?: string;
  readonly weight?: 0;
  /** The thoughts of the model, by the name that its provider has for it. */
  readonly reasoning_content?: string;
  readonly reasoning?: string;
}

/** All that a model was sent and said, in one line for a trainer. */
export interface Conversation {
  readonly messages: readonly LineMessage[];
  readonly tools: readonly object[];
}

export interface ConversationOptions {
  /** Default `keep`. */
  readonly reasoning?: 'keep' | 'drop' | undefined;
  /** Whether arguments are of a tool's schema; only asked for calls whose result is an error. Default: what the result says. */
  readonly fitsSchema?: ((tool: AgentTool, args: JsonObject) => boolean) | undefined;
}

/**
 * The conversation of a trace: exactly what its model was sent and said, with `weight: 0` where there is nothing to learn:
 * responses with a call that no schema allows, and what others wrote in the assistant's name.
 *
 * @returns undefined where no model was asked. Losses are noted.
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
  // They have the fields that the gateway's messages have.
  return { messages: messages as unknown as readonly LineMessage[], tools: trace.tools.map(toGatewayTool) };
}

/** Without fields that one provider alone has a use for. */
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

/** A response that shows how not to call a tool: arguments that are no JSON or not of the schema, a tool that was not offered. */
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

/** Images of a user's message by the address that the file names them by. */
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

/** The address of an image part of OpenAI; undefined for any other. */
function imageUrlOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null || !('image_url' in part)) return undefined;
  const { image_url: image } = part;
  if (typeof image !== 'object' || image === null || !('url' in image)) return undefined;
  return typeof image.url === 'string' ? image.url : undefined;
}

/** Whether a message has parts beside text, which trainers of text cannot take. */
export function hasImages({ messages }: Conversation): boolean {
  return messages.some(({ content }) => Array.isArray(content) && content.some((part) => imageUrlOf(part)));
}

/** The text of a message: parts of text one below the other, "" for none. */
export function textOf({ content }: LineMessage): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = content.map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : ''));
  return texts.join('\n');
}

/** A call with its arguments as an object, where a trainer wants one. */
export function withParsedArguments({ id, function: called }: LineCall) {
  return {
    id,
    type: 'function',
    function: { name: called.name, arguments: JSON.parse(called.arguments) as JsonObject },
  };
}
