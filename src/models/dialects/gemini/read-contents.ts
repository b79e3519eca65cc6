import type { ContentBlock } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { ContentPart } from '../../../contract/scenario.ts';
import { toArguments } from '../call-arguments.ts';
import { type PartReader, toBlocks } from '../content-parts.ts';
import type { Reading } from '../reading.ts';
import { invalidField, objectsOf, optionalList, requiredObject, textOrEmpty } from '../request-fields.ts';
import { fieldOf } from './gemini-fields.ts';

/** Adds one content of a request: output or input of the model. */
export function addContent(content: JsonObject, param: string, reading: Reading): void {
  const role = textOrEmpty(content.role) || 'user';
  const list = optionalList(content, 'parts').map((part, index) => requiredObject(part, `${param}.parts[${index}]`));
  if (role === 'model') {
    for (const part of list) addSaid(part, reading);
  } else if (role === 'user' || role === 'function' || role === 'system') {
    addGiven(role === 'system' ? 'system' : 'user', list, reading);
  } else {
    throw invalidField(`${param}.role`, 'user or model', role);
  }
}

/** Texts and bytes of the parts. */
export function readParts(list: Json | undefined, parts: PartReader): ContentPart[] {
  return objectsOf(list).flatMap((part) => readPart(part, parts));
}

/** Adds the model's output. Code that the provider ran, and its output, are left out. */
function addSaid(part: JsonObject, { transcript, names }: Reading): void {
  const call = fieldOf(part, 'functionCall');
  if (isJsonObject(call)) {
    const name = names.toName(textOrEmpty(call.name));
    transcript.said({ call: { id: textOrEmpty(call.id), name, ...toArguments(call.args) } });
  } else if (typeof part.text === 'string') {
    transcript.said(part.thought === true ? { reasoning: part.text } : { content: part.text });
  }
}

/** Adds the model's input. Results come before the other parts of the same content. */
function addGiven(role: 'user' | 'system', list: readonly JsonObject[], { transcript, parts, names }: Reading): void {
  const others: ContentPart[] = [];
  for (const part of list) {
    const result = fieldOf(part, 'functionResponse');
    if (isJsonObject(result)) {
      const id = textOrEmpty(result.id);
      transcript.result({ id, name: names.toName(textOrEmpty(result.name)), ...readResult(result, parts) });
    } else {
      others.push(...readPart(part, parts));
    }
  }
  if (others.length > 0) transcript.text(role, others);
}

/** Reads a result. Google's names are `output` and `error`; most libraries put a text into `output` or `result`. */
function readResult(
  result: JsonObject,
  parts: PartReader,
): { readonly content: ContentBlock[]; readonly isError: boolean } {
  const response = isJsonObject(result.response) ? result.response : {};
  const members = Object.keys(response);
  const [name = ''] = members;
  const only = members.length === 1 && TEXT_MEMBERS.has(name) ? response[name] : undefined;
  const text = typeof only === 'string' ? only : members.length === 0 ? '' : JSON.stringify(only ?? response);
  const isError = response.error !== undefined && response.error !== null;
  return { content: toBlocks([parts.text(text), ...readParts(result.parts, parts)]), isError };
}

const TEXT_MEMBERS: ReadonlySet<string> = new Set(['output', 'result', 'error']);

function readPart(part: JsonObject, parts: PartReader): ContentPart[] {
  if (typeof part.text === 'string') return part.thought === true ? [] : [parts.text(part.text)];
  const inline = fieldOf(part, 'inlineData');
  if (isJsonObject(inline)) {
    return [
      parts.bytes(textOrEmpty(inline.data), textOrEmpty(fieldOf(inline, 'mimeType')) || 'application/octet-stream'),
    ];
  }
  const file = fieldOf(part, 'fileData');
  if (!isJsonObject(file)) return [];
  const uri = textOrEmpty(fieldOf(file, 'fileUri'));
  const isImage = /^image\//i.test(textOrEmpty(fieldOf(file, 'mimeType')));
  // Files stored at the provider have addresses, too.
  if (!/^https?:/i.test(uri) || KEPT_FILES.test(uri)) return [parts.kept('files', uri)];
  return [isImage ? parts.imageUrl(uri) : parts.kept('web_fetch', uri)];
}

const KEPT_FILES = /^https:\/\/generativelanguage\.googleapis\.com\//i;
