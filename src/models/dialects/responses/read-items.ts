import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import { parseArguments, toCustomArguments } from '../call-arguments.ts';
import { type PartReader, textOfParts, toBlocks } from '../content-parts.ts';
import type { Reading } from '../reading.ts';
import { invalidField, objectsOf, requiredObject, requiredText, textOrEmpty } from '../request-fields.ts';
import { readTypedCall } from './typed-calls.ts';

/** Adds one item of the input. Unknown types are left out, because agents send some for their provider only. */
export function addItem(item: JsonObject, param: string, reading: Reading): void {
  const { transcript, names, parts } = reading;
  const type = textOrEmpty(item.type) || 'message';
  if (type === 'message') {
    addMessage(item, param, reading);
  } else if (type === 'function_call' || type === 'custom_tool_call') {
    const name = names.toName(textOrEmpty(item.name), textOrEmpty(item.namespace) || null);
    const args =
      type === 'custom_tool_call'
        ? toCustomArguments(textOrEmpty(item.input))
        : parseArguments(textOrEmpty(item.arguments));
    transcript.said({ call: { id: idOf(item), name, ...args } });
  } else if (type === 'reasoning') {
    const reasoning = reasoningOf(item);
    if (reasoning !== '') transcript.said({ reasoning });
  } else if (type.endsWith('_call_output')) {
    const content = toBlocks(readOutput(item.output, `${param}.output`, parts));
    transcript.result({ id: idOf(item), content, isError: false });
  } else if (type === 'item_reference') {
    const message = `\`${param}\` refers to the item ${JSON.stringify(item.id ?? null)}, and nothing is kept here between requests: send the items themselves (many libraries do with \`store: false\`).`;
    throw new ApiError('invalid_parameter', message, { param });
  } else {
    const typed = readTypedCall(item);
    if (typed !== undefined) {
      transcript.said({ call: { id: idOf(item), name: names.toName(typed.tool), ...typed.args } });
    }
  }
}

/** The id that links a call and its result: `call_id`, or `id` on results of the older shell tool. */
function idOf(item: JsonObject): string {
  return textOrEmpty(item.call_id) || textOrEmpty(item.id);
}

function addMessage(item: JsonObject, param: string, { transcript, parts }: Reading): void {
  const role = requiredText(item.role, `${param}.role`);
  if (role === 'assistant') {
    for (const part of partsOf(item.content, `${param}.content`)) {
      if (part.type === 'refusal') transcript.said({ refusal: textOrEmpty(part.refusal) });
      else transcript.said({ content: textOrEmpty(part.text) });
    }
    return;
  }
  const content = readContent(item.content, `${param}.content`, parts);
  if (role === 'user') transcript.text('user', content);
  // Few models except OpenAI's know the role `developer`.
  else if (role === 'system' || role === 'developer') transcript.text('system', textOfParts(content));
  else throw invalidField(`${param}.role`, 'user, assistant, system or developer', role);
}

function reasoningOf(item: JsonObject): string {
  const textOf = (parts: Json | undefined) =>
    objectsOf(parts)
      .map((part) => textOrEmpty(part.text))
      .join('\n');
  return textOf(item.content) || textOf(item.summary);
}

/** Reads a result: a text, parts, or the output of each shell command. */
function readOutput(output: Json | undefined, param: string, parts: PartReader): string | ContentPart[] {
  if (output === undefined || output === null) return '';
  if (!Array.isArray(output)) return typeof output === 'string' ? output : JSON.stringify(output);
  return output.flatMap((value) => {
    if (!isJsonObject(value)) throw invalidField(param, 'a text or a list of parts', value);
    const read = readPart(value, parts);
    return read.length === 0 ? [parts.text(JSON.stringify(value))] : read;
  });
}

function readContent(content: Json | undefined, param: string, parts: PartReader): string | ContentPart[] {
  if (typeof content === 'string') return content;
  return partsOf(content, param).flatMap((part) => readPart(part, parts));
}

function partsOf(content: Json | undefined, param: string): JsonObject[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'input_text', text: content }];
  if (!Array.isArray(content)) throw invalidField(param, 'a text or a list of parts', content);
  return content.map((part, index) => requiredObject(part, `${param}[${index}]`));
}

function readPart(part: JsonObject, parts: PartReader): ContentPart[] {
  const { type } = part;
  if (type === 'input_text' || type === 'output_text' || type === 'text') return [parts.text(textOrEmpty(part.text))];
  if (type === 'refusal') return [parts.text(textOrEmpty(part.refusal))];
  if (type === 'input_audio') return [parts.text('(sound, which this model does not get)')];
  const { file_id: id, image_url: image, file_url: url, file_data: data } = part;
  const isFile = type === 'input_file';
  if (type !== 'input_image' && !isFile) return [];
  if (typeof id === 'string') return [parts.kept('files', id)];
  if (!isFile) return [parts.imageUrl(textOrEmpty(isJsonObject(image) ? image.url : image))];
  if (typeof url === 'string') return [parts.kept('web_fetch', url)];
  return [parts.file(textOrEmpty(data), textOrEmpty(part.filename))];
}
