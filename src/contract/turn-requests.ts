import { z } from 'zod';
import { turnRequestSchema } from './chat-completions.ts';
import { isJsonObject } from './json.ts';
import { faultInGeminiPart, faultInMessagesBlock, faultInResponsesPart, refuseParts } from './turn-contents.ts';

/*
 * Bodies of a turn in the protocols beside chat completions: the settings that are read, and the caller's messages.
 * The reader of the request checks that it has a list of messages. Other fields are ignored.
 */

const ROLES_OF_CALLERS: ReadonlySet<unknown> = new Set(['user', 'system', 'developer']);

/** Only messages of the caller are checked. Texts of the model and results of its tools pass unchanged. */
const inputItemSchema = z.looseObject({}).superRefine(({ type, role, content }, context) => {
  if ((type ?? 'message') !== 'message' || !ROLES_OF_CALLERS.has(role)) return;
  refuseParts(context, ['content'], content, faultInResponsesPart);
});

/** Settings of a format of the answer. A JSON Schema cannot be left out where it is announced. */
const answerFormatSchema = z
  .looseObject({
    type: z.enum(['text', 'json_object', 'json_schema']).nullish(),
    schema: z.looseObject({}).nullish(),
  })
  .superRefine(({ type, schema }, context) => {
    if (type !== 'json_schema' || isJsonObject(schema)) return;
    context.addIssue({ code: 'custom', path: ['schema'], message: 'a JSON Schema' });
  });

/** Body of `POST /v1/responses`. */
export const responsesRequestSchema = turnRequestSchema.extend({
  input: z.union([z.string(), z.array(inputItemSchema)]).nullish(),
  instructions: z.string().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  max_output_tokens: z.int().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  background: z.boolean().nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish() }).nullish(),
  text: z.looseObject({ format: answerFormatSchema.nullish() }).nullish(),
});

const messageSchema = z.looseObject({}).superRefine(({ role, content }, context) => {
  if (ROLES_OF_CALLERS.has(role)) refuseParts(context, ['content'], content, faultInMessagesBlock);
});

/** Body of `POST /v1/messages`. */
export const messagesRequestSchema = turnRequestSchema
  .extend({
    messages: z.array(messageSchema).nullish(),
    system: z.union([z.string(), z.array(z.unknown())]).nullish(),
    max_tokens: z.int().nullish(),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    top_k: z.int().nullish(),
    stop_sequences: z.array(z.string()).nullish(),
    thinking: z.looseObject({}).nullish(),
    output_config: z.looseObject({ effort: z.string().nullish(), format: answerFormatSchema.nullish() }).nullish(),
    output_format: answerFormatSchema.nullish(),
  })
  .superRefine(({ system }, context) => {
    if (Array.isArray(system)) refuseParts(context, ['system'], system, faultInMessagesBlock);
  });

const contentSchema = z.looseObject({}).superRefine(({ role, parts }, context) => {
  if (role === 'model') return;
  if (Array.isArray(parts)) refuseParts(context, ['parts'], parts, faultInGeminiPart);
  else context.addIssue({ code: 'custom', path: ['parts'], message: 'a list of parts' });
});

const instructionsSchema = z.union([z.string(), contentSchema]).nullish();

/** Adds the snake-case form of each name, which Google's servers also accept. */
function inBothSpellings<Shape extends z.ZodRawShape>(shape: Shape): z.ZodRawShape {
  const snake = Object.entries(shape).map(([name, schema]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    schema,
  ]);
  return { ...Object.fromEntries(snake), ...shape };
}

const generationConfigSchema = z.looseObject(
  inBothSpellings({
    temperature: z.number().nullish(),
    topP: z.number().nullish(),
    topK: z.int().nullish(),
    seed: z.int().nullish(),
    maxOutputTokens: z.int().nullish(),
    candidateCount: z.int().nullish(),
    stopSequences: z.array(z.string()).nullish(),
    presencePenalty: z.number().nullish(),
    frequencyPenalty: z.number().nullish(),
    responseMimeType: z.string().nullish(),
    responseSchema: z.looseObject({}).nullish(),
    responseJsonSchema: z.looseObject({}).nullish(),
    thinkingConfig: z.looseObject(inBothSpellings({ thinkingLevel: z.string().nullish() })).nullish(),
  }),
);

/** Body of Gemini's `generateContent` and `streamGenerateContent`. */
export const geminiRequestSchema = turnRequestSchema.extend({
  contents: z.array(contentSchema).nullish(),
  systemInstruction: instructionsSchema,
  system_instruction: instructionsSchema,
  generationConfig: generationConfigSchema.nullish(),
  generation_config: generationConfigSchema.nullish(),
});
