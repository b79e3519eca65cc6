import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import { toArguments } from '../call-arguments.ts';
import { type PartReader, textOfParts, toBlocks } from '../content-parts.ts';
import type { DialectRequest, ReceivedRequest } from '../dialect.ts';
import { toResponseFormat } from '../json-schema-format.ts';
import { toProviderTool } from '../provider-tools.ts';
import { finishReading, type Reading, startReading } from '../reading.ts';
import {
  invalidField,
  optionalFlag,
  optionalList,
  optionalText,
  presentFields,
  readBodyObject,
  requiredList,
  requiredObject,
  requiredText,
  textOrEmpty,
} from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import { typedTool } from './typed-tools.ts';

/** Reads a request of Anthropic's Messages, or of its `count_tokens`. @throws ApiError */
export function readMessagesRequest(received: ReceivedRequest): DialectRequest {
  const body = readBodyObject(received.body);
  const messages = requiredList(body, 'messages');
  const reading = startReading();
  addTools(body, reading);
  if (body.system !== undefined && body.system !== null) {
    reading.transcript.text('system', textOfParts(readContent(body.system, 'system', reading.parts)));
  }
  messages.forEach((message, index) => {
    addMessage(requiredObject(message, `messages[${index}]`), `messages[${index}]`, reading);
  });
  return finishReading(reading, {
    dialect: 'messages',
    body,
    model: optionalText(body, 'model') ?? null,
    isStreamed: optionalFlag(body, 'stream'),
    settings: toSettings(body, reading.names),
    wantsUsage: true,
  });
}

function addTools(body: JsonObject, { names, parts }: Reading): void {
  optionalList(body, 'tools').forEach((value, index) => {
    const tool = requiredObject(value, `tools[${index}]`);
    const type = textOrEmpty(tool.type) || 'custom';
    const typed = typedTool(type);
    if (type !== 'custom' && typed === undefined) {
      parts.providerTools.push(toProviderTool(type));
      return;
    }
    names.add({
      own_name: requiredText(tool.name, `tools[${index}].name`),
      namespace: null,
      form: typed === undefined ? 'function' : 'typed',
      description: textOrEmpty(tool.description) || (typed?.description ?? ''),
      input_schema: typed?.schema ?? (isJsonObject(tool.input_schema) ? tool.input_schema : { type: 'object' }),
    });
  });
  if (optionalList(body, 'mcp_servers').length > 0) parts.providerTools.push(toProviderTool('mcp'));
  if (body.container !== undefined && body.container !== null)
    parts.providerTools.push(toProviderTool('code_execution'));
}

function addMessage(message: JsonObject, param: string, reading: Reading): void {
  const role = requiredText(message.role, `${param}.role`);
  const { content } = message;
  if (typeof content !== 'string' && !Array.isArray(content)) {
    throw invalidField(`${param}.content`, 'a text or a list of blocks', content);
  }
  if (role === 'assistant') {
    for (const block of blocksOf(content, `${param}.content`)) addSaid(block, reading);
  } else if (role === 'user' || role === 'system') {
    addGiven(role, content, `${param}.content`, reading);
  } else {
    throw invalidField(`${param}.role`, 'user or assistant', role);
  }
}

/** Adds the model's output. Blocks of tools that the provider ran are left out. */
function addSaid(block: JsonObject, { transcript, names }: Reading): void {
  const { type } = block;
  if (type === 'text') transcript.said({ content: textOrEmpty(block.text) });
  if (type === 'thinking') transcript.said({ reasoning: textOrEmpty(block.thinking) });
  if (type === 'tool_use') {
    const name = names.toName(textOrEmpty(block.name));
    transcript.said({ call: { id: textOrEmpty(block.id), name, ...toArguments(block.input) } });
  }
}

/** Adds the model's input. Results come before the other parts of the same message. */
function addGiven(
  role: 'user' | 'system',
  content: string | Json[],
  param: string,
  { transcript, parts }: Reading,
): void {
  if (typeof content === 'string') {
    transcript.text(role, content);
    return;
  }
  const others: ContentPart[] = [];
  for (const block of blocksOf(content, param)) {
    if (block.type === 'tool_result') {
      transcript.result({
        id: textOrEmpty(block.tool_use_id),
        content: toBlocks(readContent(block.content, `${param}.content`, parts)),
        isError: block.is_error === true,
      });
    } else {
      others.push(...readBlock(block, parts));
    }
  }
  if (others.length > 0) transcript.text(role, role === 'system' ? textOfParts(others) : others);
}

function blocksOf(content: string | Json[], param: string): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((block, index) => requiredObject(block, `${param}[${index}]`));
}

function readContent(content: Json | undefined, param: string, parts: PartReader): string | ContentPart[] {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidField(param, 'a text or a list of blocks', content);
  return blocksOf(content, param).flatMap((block) => readBlock(block, parts));
}

function readBlock(block: JsonObject, parts: PartReader): ContentPart[] {
  const { type } = block;
  if (type === 'text') return [parts.text(textOrEmpty(block.text))];
  if (type === 'image' || type === 'document') return readSource(block, parts);
  if (type === 'search_result') return readSearchResult(block, parts);
  if (type === 'container_upload') return [parts.kept('files', textOrEmpty(block.file_id))];
  return [];
}

function readSource(block: JsonObject, parts: PartReader): ContentPart[] {
  const source = isJsonObject(block.source) ? block.source : {};
  const name = textOrEmpty(block.title);
  const { type } = source;
  if (type === 'base64') {
    return [parts.bytes(textOrEmpty(source.data), textOrEmpty(source.media_type), name === '' ? undefined : name)];
  }
  if (type === 'url') {
    const url = textOrEmpty(source.url);
    return [block.type === 'image' ? parts.imageUrl(url) : parts.kept('web_fetch', url)];
  }
  if (type === 'file') return [parts.kept('files', textOrEmpty(source.file_id))];
  if (type === 'text') return [parts.text(textOrEmpty(source.data))];
  return type === 'content' ? toList(readContent(source.content, 'source.content', parts), parts) : [];
}

function readSearchResult(block: JsonObject, parts: PartReader): ContentPart[] {
  const heading = parts.text([textOrEmpty(block.title), textOrEmpty(block.source)].filter(Boolean).join(', '));
  return [heading, ...toList(readContent(block.content, 'content', parts), parts)];
}

function toList(content: string | ContentPart[], parts: PartReader): ContentPart[] {
  return typeof content === 'string' ? [parts.text(content)] : content;
}

function toSettings(body: JsonObject, names: ToolNames): JsonObject {
  const choice = isJsonObject(body.tool_choice) ? body.tool_choice : {};
  const output = isJsonObject(body.output_config) ? body.output_config : {};
  const format = [output.format, body.output_format].find(isJsonObject);
  return presentFields({
    max_tokens: body.max_tokens,
    stop: Array.isArray(body.stop_sequences) && body.stop_sequences.length > 0 ? body.stop_sequences : undefined,
    tool_choice:
      choice.type === 'tool'
        ? { type: 'function', function: { name: names.toName(textOrEmpty(choice.name)) } }
        : CHOICES.get(textOrEmpty(choice.type)),
    parallel_tool_calls: choice.disable_parallel_tool_use === true ? false : undefined,
    response_format: toResponseFormat(format?.schema),
    reasoning_effort: output.effort,
  });
}

const CHOICES: ReadonlyMap<string, string> = new Map([
  ['auto', 'auto'],
  ['any', 'required'],
  ['none', 'none'],
]);
