import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { type PartReader, textOfParts } from '../content-parts.ts';
import type { DialectRequest, ReceivedRequest } from '../dialect.ts';
import { toResponseFormat } from '../json-schema-format.ts';
import { toProviderTool } from '../provider-tools.ts';
import { finishReading, startReading } from '../reading.ts';
import {
  invalidField,
  objectsOf,
  optionalList,
  presentFields,
  readBodyObject,
  requiredList,
  requiredObject,
  textOrEmpty,
} from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import { toJsonSchema, toTool } from './function-declarations.ts';
import { fieldOf } from './gemini-fields.ts';
import { addContent, readParts } from './read-contents.ts';

/** Reads a request of Gemini's `generateContent`, streamed or not, or of its `countTokens`. @throws ApiError */
export function readGeminiRequest(received: ReceivedRequest): DialectRequest {
  const given = readBodyObject(received.body);
  // A request that counts tokens may contain a whole request.
  const inner = fieldOf(given, 'generateContentRequest');
  const body = isJsonObject(inner) ? inner : given;
  const contents = requiredList(body, 'contents');
  const config = toObject(fieldOf(body, 'generationConfig'));
  refuseUnserved(body, config);
  const reading = startReading();
  const { transcript, parts, names } = reading;
  addTools(body, names, parts);
  const system = fieldOf(body, 'systemInstruction');
  const systemText = typeof system === 'string' ? system : textOfParts(readParts(toObject(system).parts, parts));
  if (systemText !== '') transcript.text('system', systemText);
  contents.forEach((content, index) => {
    addContent(requiredObject(content, `contents[${index}]`), `contents[${index}]`, reading);
  });
  return finishReading(reading, {
    dialect: 'gemini',
    body,
    model: received.model ?? null,
    isStreamed: received.isStreamed ?? false,
    settings: toSettings(body, config, names),
    wantsUsage: true,
  });
}

function refuseUnserved(body: JsonObject, config: JsonObject): void {
  const count = fieldOf(config, 'candidateCount');
  if (count !== undefined && count !== 1) {
    throw invalidField('generationConfig.candidateCount', '1: a request gets one answer', count);
  }
  const cached = fieldOf(body, 'cachedContent');
  if (cached === undefined || cached === '') return;
  const message = `\`cachedContent\` is ${JSON.stringify(cached).slice(0, 80)}, and nothing is kept here between requests: send the whole conversation as \`contents\`.`;
  throw new ApiError('invalid_parameter', message, { param: 'cachedContent' });
}

/** Adds the tools. Every member of a tool other than its functions is a tool that the provider runs. */
function addTools(body: JsonObject, names: ToolNames, parts: PartReader): void {
  const tools = isJsonObject(body.tools) ? [body.tools] : optionalList(body, 'tools');
  tools.forEach((value, index) => {
    const tool = requiredObject(value, `tools[${index}]`);
    objectsOf(fieldOf(tool, 'functionDeclarations')).forEach((declaration, at) => {
      names.add(toTool(declaration, `tools[${index}].functionDeclarations[${at}]`));
    });
    for (const [name, member] of Object.entries(tool)) {
      const isFunctions = name === 'functionDeclarations' || name === 'function_declarations';
      if (!isFunctions && member !== null) parts.providerTools.push(toProviderTool(name));
    }
  });
}

function toSettings(body: JsonObject, config: JsonObject, names: ToolNames): JsonObject {
  const stop = fieldOf(config, 'stopSequences');
  const thinking = toObject(fieldOf(config, 'thinkingConfig'));
  return presentFields({
    max_tokens: fieldOf(config, 'maxOutputTokens'),
    stop: Array.isArray(stop) && stop.length > 0 ? stop : undefined,
    tool_choice: toToolChoice(toObject(fieldOf(body, 'toolConfig')), names),
    response_format: toFormat(config),
    reasoning_effort: textOrEmpty(fieldOf(thinking, 'thinkingLevel')).toLowerCase() || undefined,
  });
}

function toFormat(config: JsonObject): JsonObject | undefined {
  if (fieldOf(config, 'responseMimeType') !== 'application/json') return undefined;
  const schema = fieldOf(config, 'responseJsonSchema');
  const google = fieldOf(config, 'responseSchema');
  return (
    toResponseFormat(schema ?? (isJsonObject(google) ? toJsonSchema(google) : undefined)) ?? { type: 'json_object' }
  );
}

function toToolChoice(config: JsonObject, names: ToolNames): Json | undefined {
  const calling = toObject(fieldOf(config, 'functionCallingConfig'));
  const mode = textOrEmpty(calling.mode).toUpperCase();
  if (mode !== 'ANY') return { AUTO: 'auto', VALIDATED: 'auto', NONE: 'none' }[mode];
  const allowed = fieldOf(calling, 'allowedFunctionNames');
  const [name, ...others] = Array.isArray(allowed) ? allowed : [];
  if (typeof name !== 'string' || others.length > 0) return 'required';
  return { type: 'function', function: { name: names.toName(name) } };
}

function toObject(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
