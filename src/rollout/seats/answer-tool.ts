import { isJsonObject, type Json, type JsonSchema } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { SUBMIT_ANSWER } from '../../contract/service/seat.ts';
import type { CompiledSchema, ParseResult, ToolDefinition } from '../../environment/authoring/definition.ts';
import { ToolError } from '../../environment/authoring/tool-result.ts';
import { asFields, validateJsonSchema } from '../../support/schema/json-schema.ts';
import { fitAnswer } from '../session/answer.ts';

/**
 * The tool that ends a run: `{ answer }`, a text or a value of the scenario's schema. Its result says that the answer
 * was received, and nothing about the reward.
 *
 * @param submit returns false if the run is over already.
 */
export function createAnswerTool(schema: JsonSchema | null, submit: (answer: Json) => boolean): ToolDefinition {
  return {
    name: SUBMIT_ANSWER,
    title: 'Submit the answer',
    description:
      'Ends the task with your final answer. Call it once, when you are done: no tool can be called any more after it.',
    annotations: { destructiveHint: false, idempotentHint: false, openWorldHint: false },
    input: toInput(schema),
    output: undefined,
    handler(args) {
      const { answer } = args as { readonly answer: Json }; // Parsed by its schema.
      if (!submit(answer)) throw new ToolError('The run is over already: its first answer counts.');
      return { received: true };
    },
  };
}

/** @returns the problems of an answer in words; undefined if it fits the schema. Never throws. */
export function answerProblem(schema: JsonSchema | null, answer: Json): string | undefined {
  const parsed = parse(toJsonSchema(schema), schema, { answer });
  if (parsed.ok) return undefined;
  return parsed.issues.map(({ path, message }) => `${path === '' ? 'it' : `\`${path}\``} ${message}`).join('; ');
}

/** Reads a text as JSON if the schema accepts the JSON value and not the text. */
export function readAnswer(schema: JsonSchema | null, answer: Json): Json {
  if (schema === null || typeof answer !== 'string') return answer;
  if (validateJsonSchema(schema, answer).length === 0) return answer;
  return fitAnswer(answer, schema).answer;
}

function toInput(schema: JsonSchema | null): CompiledSchema {
  const jsonSchema = toJsonSchema(schema);
  return { jsonSchema, parse: (value) => parse(jsonSchema, schema, value) };
}

type Parsed = Awaited<ParseResult>;

function parse(jsonSchema: JsonSchema, schema: JsonSchema | null, value: unknown): Parsed {
  const given = isJsonObject(value) && 'answer' in value ? value.answer : undefined;
  // The evaluation request adds levels around the answer and would refuse a deeper one.
  if (isTooDeep(given, MAX_INPUT_DEPTH)) {
    return { ok: false, issues: [{ path: 'answer', message: `is nested more than ${MAX_INPUT_DEPTH} deep` }] };
  }
  // Some agents send the JSON value as a string.
  const read =
    typeof given === 'string' && isJsonObject(value) ? { ...value, answer: readAnswer(schema, given) } : value;
  const issues = validateJsonSchema(jsonSchema, read);
  return issues.length === 0 ? { ok: true, value: read } : { ok: false, issues: asFields(issues) };
}

function toJsonSchema(schema: JsonSchema | null): JsonSchema {
  const answer =
    schema === null ? { type: 'string', description: 'Your final answer' } : moved(schema, '#/properties/answer');
  return { type: 'object', properties: { answer }, required: ['answer'], additionalProperties: false };
}

/** Moves a schema to another place of a document, by prefixing its references, which start at the root. */
function moved(schema: JsonSchema, to: string): JsonSchema {
  if ('$id' in schema) return schema; // Its references begin at itself.
  const move = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(move);
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string' && inner.startsWith('#') ? `${to}${inner.slice(1)}` : move(inner),
      ]),
    );
  };
  return move(schema) as JsonSchema; // An object stays one.
}
