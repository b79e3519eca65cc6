import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { DialectRequest, ReceivedRequest } from '../dialect.ts';
import { toResponseFormat } from '../json-schema-format.ts';
import { finishReading, startReading } from '../reading.ts';
import {
  invalidField,
  optionalFlag,
  optionalText,
  presentFields,
  readBodyObject,
  requiredObject,
  textOrEmpty,
} from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import { addItem } from './read-items.ts';
import { addTools } from './read-tools.ts';

/** Reads a request of OpenAI's Responses. @throws ApiError */
export function readResponsesRequest(received: ReceivedRequest): DialectRequest {
  const body = readBodyObject(received.body);
  refuseKeptState(body);
  const items = readInput(body.input);
  const reading = startReading();
  addTools(body.tools, 'tools', reading);
  // Some agents define tools between other items. Their names must be known before the first call is read.
  items.forEach((item, index) => {
    if (HOLDS_TOOLS.has(String(item.type))) addTools(item.tools, `input[${index}].tools`, reading);
  });
  const instructions = optionalText(body, 'instructions');
  if (instructions !== undefined && instructions !== '') reading.transcript.text('system', instructions);
  items.forEach((item, index) => {
    addItem(item, `input[${index}]`, reading);
  });
  return finishReading(reading, {
    dialect: 'responses',
    body,
    model: optionalText(body, 'model') ?? null,
    isStreamed: optionalFlag(body, 'stream'),
    settings: toSettings(body, reading.names),
    wantsUsage: true,
  });
}

const HOLDS_TOOLS: ReadonlySet<string> = new Set(['additional_tools', 'tool_search_output']);

/** Refuses references to stored conversations. A seat stores none, so each request needs the whole conversation. */
function refuseKeptState(body: JsonObject): void {
  for (const field of ['previous_response_id', 'conversation', 'prompt'] as const) {
    const value = body[field];
    if (value === undefined || value === null) continue;
    const message = `\`${field}\` is ${JSON.stringify(value).slice(0, 80)}, and nothing is kept here between requests: send the whole conversation as \`input\`.`;
    throw new ApiError('invalid_parameter', message, { param: field });
  }
  if (body.background === true)
    throw invalidField('background', 'false: an answer is given to the request itself', true);
}

function readInput(input: Json | undefined): JsonObject[] {
  if (input === undefined || input === null) {
    throw new ApiError('missing_required_parameter', 'The field `input` is missing.', { param: 'input' });
  }
  if (typeof input === 'string') return [{ role: 'user', content: input }];
  if (!Array.isArray(input)) throw invalidField('input', 'a text or a list of items', input);
  return input.map((item, index) => requiredObject(item, `input[${index}]`));
}

function toSettings(body: JsonObject, names: ToolNames): JsonObject {
  const { effort }: JsonObject = isJsonObject(body.reasoning) ? body.reasoning : {};
  return presentFields({
    max_tokens: body.max_output_tokens,
    tool_choice: toToolChoice(body.tool_choice, names),
    parallel_tool_calls: body.parallel_tool_calls,
    response_format: toFormat(body.text),
    reasoning_effort: effort,
  });
}

function toFormat(text: Json | undefined): Json | undefined {
  const format = isJsonObject(text) && isJsonObject(text.format) ? text.format : {};
  if (format.type === 'json_object') return { type: 'json_object' };
  if (format.type !== 'json_schema') return undefined;
  const { name, description, strict } = format;
  return toResponseFormat(format.schema, presentFields({ name, description, strict }));
}

function toToolChoice(choice: Json | undefined, names: ToolNames): Json | undefined {
  if (!isJsonObject(choice)) return choice;
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? 'required' : 'auto';
  const name = textOrEmpty(choice.name) || textOrEmpty(choice.type);
  const namespace = textOrEmpty(choice.namespace) || null;
  return { type: 'function', function: { name: names.toName(name, namespace) } };
}
