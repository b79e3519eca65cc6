import type { z } from 'zod';
import { isJsonObject } from './json.ts';

/**
 * A fault in a part of the caller's messages: its place below the part, and the right value in words that continue "has
 * to be".
 */
interface PartFault {
  readonly path: readonly string[];
  readonly message: string;
}

/** Finds the fault of a part; undefined for a part that can be read. */
type FindFault = (part: Readonly<Record<string, unknown>>) => PartFault | undefined;

/** For `superRefine`: adds an issue for the first part of a list that cannot be read. A text has no parts. */
export function refuseParts(
  context: z.RefinementCtx,
  path: readonly string[],
  content: unknown,
  findFault: FindFault,
): void {
  const refuse = (at: readonly (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path: [...path, ...at], message });
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) {
    refuse([], 'a text or a list of parts');
    return;
  }
  for (const [index, part] of content.entries()) {
    const fault = isJsonObject(part) ? findFault(part) : { path: [], message: 'an object' };
    if (fault === undefined) continue;
    refuse([index, ...fault.path], fault.message);
    return;
  }
}

/** Parts of OpenAI's Responses. */
export const faultInResponsesPart: FindFault = (part) => {
  const { type, image_url: image, file_id: id, file_url: url, file_data: data } = part;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textFault(part, 'text');
    case 'refusal':
      return textFault(part, 'refusal');
    case 'input_audio':
      return undefined;
    case 'input_image':
      if (isText(id) || isText(isJsonObject(image) ? image.url : image)) return undefined;
      return { path: [], message: 'an image with its data URL as image_url' };
    case 'input_file':
      return [id, url, data].some(isText) ? undefined : { path: [], message: 'a file with its bytes as file_data' };
    default:
      return { path: [], message: 'a part of type input_text, input_image or input_file' };
  }
};

/** Blocks of Anthropic's Messages. */
export const faultInMessagesBlock: FindFault = (block) => {
  const { type, source } = block;
  switch (type) {
    case 'text':
      return textFault(block, 'text');
    case 'image':
    case 'document':
      return isJsonObject(source) ? sourceFault(source) : { path: ['source'], message: 'an object' };
    case 'container_upload':
    case 'search_result':
    case 'tool_result':
      return undefined;
    default:
      return { path: [], message: 'a block of type text, image or document' };
  }
};

const SOURCE_FIELDS: ReadonlyMap<unknown, string> = new Map([
  ['base64', 'data'],
  ['text', 'data'],
  ['url', 'url'],
  ['file', 'file_id'],
]);

function sourceFault(source: Readonly<Record<string, unknown>>): PartFault | undefined {
  if (source.type === 'content') return undefined;
  const field = SOURCE_FIELDS.get(source.type);
  if (field === undefined) return { path: ['source', 'type'], message: 'base64, text, url, file or content' };
  return isText(source[field]) ? undefined : { path: ['source', field], message: 'a text' };
}

/** Parts of Gemini's contents. */
export const faultInGeminiPart: FindFault = (part) => {
  if (part.text !== undefined && part.text !== null) return textFault(part, 'text');
  for (const [name, snake, field, snakeField] of BYTES) {
    const key = isGiven(part[name]) ? name : snake;
    const value = part[key];
    if (!isGiven(value)) continue;
    const isRead = isJsonObject(value) && [value[field], value[snakeField]].some(isText);
    return isRead ? undefined : { path: [key], message: `an object with ${field}` };
  }
  if (isJsonObject(part.functionResponse ?? part.function_response)) return undefined;
  return { path: [], message: 'a part with text or inlineData' };
};

/** The members of Gemini's parts with bytes, each in both spellings, with the field that has to be there. */
const BYTES = [
  ['inlineData', 'inline_data', 'data', 'data'],
  ['fileData', 'file_data', 'fileUri', 'file_uri'],
] as const;

function textFault(part: Readonly<Record<string, unknown>>, field: string): PartFault | undefined {
  return isText(part[field]) ? undefined : { path: [field], message: 'a text' };
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
