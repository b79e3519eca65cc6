import type { Json, JsonSchema } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';
import { asFields, validateJsonSchema } from '../../support/schema/json-schema.ts';
import type { Stage } from './scenario-setup.ts';

export type FittedAnswer =
  | { readonly fits: true; readonly answer: Json }
  /** An answer that does not fit. Its plain text is submitted if there is no better one. */
  | { readonly fits: false; readonly answer: string; readonly problem: string };

/**
 * Reads the answer from a model's last text. Without a schema it is the text. With one it is the JSON in the text, bare
 * or in one code fence, or the text itself if the schema accepts that.
 */
export function fitAnswer(text: string, schema: JsonSchema | null): FittedAnswer {
  if (schema === null) return { fits: true, answer: text };
  const parsed = parseAnswer(unfenced(text));
  if (parsed.ok) {
    const issues = issuesOf(schema, parsed.value);
    if (issues === '') return { fits: true, answer: parsed.value };
    if (issuesOf(schema, text) === '') return { fits: true, answer: text };
    return { fits: false, answer: text, problem: issues };
  }
  if (issuesOf(schema, text) === '') return { fits: true, answer: text };
  return { fits: false, answer: text, problem: `it is not valid JSON (${parsed.problem})` };
}

/** Reads the answer from the last assistant text, for a session without a submitted answer. */
export function fitLastText(stage: Pick<Stage, 'transcript' | 'setup'> | undefined): FittedAnswer {
  return fitAnswer(stage?.transcript.lastAssistantText() ?? '', stage?.setup.answer_schema ?? null);
}

/** The request to the model to repair an answer that does not fit. It is sent once. */
export function repairRequest(problem: string, schema: JsonSchema): string {
  return [`${REPAIR_START}${problem}.`, REPAIR_RULE, JSON.stringify(schema)].join('\n');
}

/** True if a message is a repair request. */
export function isRepairRequest(text: string): boolean {
  return text.startsWith(REPAIR_START) && text.includes(`\n${REPAIR_RULE}\n`);
}

const REPAIR_START = 'Your answer cannot be used: ';
const REPAIR_RULE = 'Reply with the JSON of your answer alone, without any other text. It has to fit this JSON Schema:';

function issuesOf(schema: JsonSchema, value: Json): string {
  return asFields(validateJsonSchema(schema, value))
    .map(({ path, message }) => `${path === '' ? 'it' : `\`${path}\``} ${message}`)
    .join('; ');
}

function unfenced(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/i.exec(text)?.[1] ?? text;
}

type Parsed = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string };

function parseAnswer(text: string): Parsed {
  if (text.trim() === '') return { ok: false, problem: 'it is empty' };
  try {
    const value: Json = JSON.parse(text);
    if (isTooDeep(value, MAX_INPUT_DEPTH)) return { ok: false, problem: `nested more than ${MAX_INPUT_DEPTH} deep` };
    return { ok: true, value };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
