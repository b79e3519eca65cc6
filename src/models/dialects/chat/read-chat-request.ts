import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import { customInputSchema, parseArguments, toCustomArguments } from '../call-arguments.ts';
import { type PartReader, textOfParts, toBlocks } from '../content-parts.ts';
import type { DialectRequest, ReceivedRequest } from '../dialect.ts';
import { toProviderTool } from '../provider-tools.ts';
import { finishReading, type Reading, startReading } from '../reading.ts';
import {
  invalidField,
  objectsOf,
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

/** Reads a request of OpenAI's chat completions. @throws ApiError */
export function readChatRequest(received: ReceivedRequest): DialectRequest {
  const body = readBodyObject(received.body);
  const { n } = body;
  if (n !== undefined && n !== null && n !== 1) throw invalidField('n', '1: a request gets one answer', n);
  const messages = requiredList(body, 'messages');
  const reading = startReading();
  addTools(body, reading.names, reading.parts);
  messages.forEach((message, index) => {
    addMessage(requiredObject(message, `messages[${index}]`), `messages[${index}]`, reading);
  });
  const options = isJsonObject(body.stream_options) ? body.stream_options : {};
  return finishReading(reading, {
    dialect: 'chat',
    body,
    model: optionalText(body, 'model') ?? null,
    isStreamed: optionalFlag(body, 'stream'),
    settings: toSettings(body, reading.names),
    wantsUsage: options.include_usage === true,
  });
}

function addTools(body: JsonObject, names: ToolNames, parts: PartReader): void {
  optionalList(body, 'tools').forEach((value, index) => {
    const tool = requiredObject(value, `tools[${index}]`);
    const type = textOrEmpty(tool.type) || 'function';
    if (type !== 'function' && type !== 'custom') {
      parts.providerTools.push(toProviderTool(type));
      return;
    }
    addTool(requiredObject(tool[type], `tools[${index}].${type}`), type, `tools[${index}]`, names);
  });
  // The older form of tools, which some libraries still send.
  for (const tool of objectsOf(body.functions)) addTool(tool, 'function', 'functions', names);
  if (isJsonObject(body.web_search_options)) parts.providerTools.push(toProviderTool('web_search'));
}

function addTool(tool: JsonObject, form: 'function' | 'custom', param: string, names: ToolNames): void {
  names.add({
    own_name: requiredText(tool.name, `${param}.${form}.name`),
    namespace: null,
    form,
    description: textOrEmpty(tool.description),
    input_schema:
      form === 'custom'
        ? customInputSchema(isJsonObject(tool.format) ? (tool.format.grammar ?? tool.format) : undefined)
        : isJsonObject(tool.parameters)
          ? tool.parameters
          : { type: 'object', properties: {} },
  });
}

function addMessage(message: JsonObject, param: string, { transcript, parts, names }: Reading): void {
  const role = requiredText(message.role, `${param}.role`);
  const content = readContent(message.content, `${param}.content`, parts);
  if (role === 'system' || role === 'developer' || role === 'user') {
    transcript.text(role, content);
  } else if (role === 'tool' || role === 'function') {
    const id = textOrEmpty(message.tool_call_id);
    const name = textOrEmpty(message.name);
    transcript.result({ id, name: names.toName(name), content: toBlocks(content), isError: false });
  } else if (role === 'assistant') {
    addSaid(message, content, { transcript, parts, names });
  } else {
    throw invalidField(`${param}.role`, 'system, developer, user, assistant or tool', role);
  }
}

/** Adds an assistant message. Agents keep the reasoning in one of two fields. */
function addSaid(message: JsonObject, content: string | ContentPart[], { transcript, names }: Reading): void {
  const reasoning = textOrEmpty(message.reasoning_content) || textOrEmpty(message.reasoning);
  const refusal = textOrEmpty(message.refusal);
  const text = textOfParts(content);
  transcript.beginMessage();
  transcript.said({
    ...(message.content === null || message.content === undefined ? {} : { content: text }),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(refusal === '' ? {} : { refusal }),
  });
  for (const call of objectsOf(message.tool_calls)) {
    const { custom, function: made } = call;
    const id = textOrEmpty(call.id);
    if (isJsonObject(custom)) {
      const name = names.toName(textOrEmpty(custom.name));
      transcript.said({ call: { id, name, ...toCustomArguments(textOrEmpty(custom.input)) } });
    } else if (isJsonObject(made)) {
      const name = names.toName(textOrEmpty(made.name));
      transcript.said({ call: { id, name, ...parseArguments(textOrEmpty(made.arguments)) } });
    }
  }
  const old = message.function_call;
  if (isJsonObject(old)) {
    const name = names.toName(textOrEmpty(old.name));
    transcript.said({ call: { name, ...parseArguments(textOrEmpty(old.arguments)) } });
  }
}

function readContent(content: Json | undefined, param: string, parts: PartReader): string | ContentPart[] {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw invalidField(param, 'a text or a list of parts', content);
  return content.flatMap((value, index) => readPart(requiredObject(value, `${param}[${index}]`), parts));
}

function readPart(part: JsonObject, parts: PartReader): ContentPart[] {
  const { type } = part;
  if (type === 'text') return [parts.text(textOrEmpty(part.text))];
  if (type === 'refusal') return [parts.text(textOrEmpty(part.refusal))];
  if (type === 'image_url') {
    const image = part.image_url;
    return [parts.imageUrl(textOrEmpty(isJsonObject(image) ? image.url : image))];
  }
  if (type === 'input_audio') return [parts.text('(sound, which this model does not get)')];
  if (type === 'file' && isJsonObject(part.file)) {
    const { file_id: id, file_data: data, filename } = part.file;
    const name = textOrEmpty(filename);
    return [typeof id === 'string' ? parts.kept('files', name || id) : parts.file(textOrEmpty(data), name)];
  }
  return [];
}

function toSettings(body: JsonObject, names: ToolNames): JsonObject {
  const { max_tokens, max_completion_tokens, stop, parallel_tool_calls, response_format, reasoning_effort } = body;
  const { effort }: JsonObject = isJsonObject(body.reasoning) ? body.reasoning : {};
  return presentFields({
    max_tokens: max_completion_tokens ?? max_tokens,
    stop,
    tool_choice: toToolChoice(body.tool_choice, names),
    parallel_tool_calls,
    response_format,
    reasoning_effort: reasoning_effort ?? effort,
  });
}

function toToolChoice(choice: Json | undefined, names: ToolNames): Json | undefined {
  if (!isJsonObject(choice)) return choice;
  if (choice.type === 'allowed_tools') {
    return isJsonObject(choice.allowed_tools) && choice.allowed_tools.mode === 'required' ? 'required' : 'auto';
  }
  const named = [choice.function, choice.custom].find(isJsonObject);
  if (named === undefined)
    throw new ApiError('invalid_parameter', '`tool_choice` names no tool.', { param: 'tool_choice' });
  return { type: 'function', function: { name: names.toName(textOrEmpty(named.name)) } };
}
