import { z } from 'zod';
import { givenObjectSchema, isJsonObject, type JsonObject, refuseFault, scenarioArgsSchema } from './json.ts';
import { MAX_STEPS } from './names.ts';
import { modelNameSchema } from './service/run.ts';

const contentPartSchema = z.looseObject({ type: z.string() });

/** Only messages of the caller are checked. Texts of the model and results of its tools pass unchanged. */
const chatMessageSchema = z
  .looseObject({
    role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: z.union([z.string(), z.array(contentPartSchema)]).nullish(),
  })
  .superRefine(({ role, content }, context) => {
    if (role !== 'system' && role !== 'developer' && role !== 'user') return;
    if (content === undefined || content === null) {
      context.addIssue({ code: 'custom', path: ['content'], message: 'a text or a list of parts' });
    } else if (typeof content !== 'string') {
      content.forEach((part, index) => {
        if (isGivenPart(part)) return;
        const message = 'a text, or an image as a data URL (data:image/png;base64,…)';
        context.addIssue({ code: 'custom', path: ['content', index], message });
      });
    }
  });

function isGivenPart({ type, text, image_url: image }: Readonly<Record<string, unknown>>): boolean {
  if (type === 'text') return typeof text === 'string';
  const url = isJsonObject(image) ? image.url : image;
  // Only the first 200 characters are tested: a pattern over megabytes of base64 takes long.
  return type === 'image_url' && typeof url === 'string' && /^data:image\/[\w.+-]+;base64,/.test(url.slice(0, 200));
}

/**
 * Fields that Proctor adds to the body of a turn, in any protocol: `scenario` and `scenario_args` on a first turn, and
 * `thread_id` or `conversation_id` (or the header `X-SVC-Session-Id`) on a later one.
 */
export const turnRequestSchema = z.looseObject({
  model: modelNameSchema.optional(),
  stream: z.boolean().optional(),
  scenario: z.string().min(1).optional(),
  scenario_args: scenarioArgsSchema.optional(),
  thread_id: z.string().optional(),
  conversation_id: z.string().optional(),
  max_steps: z.int().min(1).max(MAX_STEPS.maximum).optional(),
});
export type TurnFields = z.infer<typeof turnRequestSchema>;

/** Settings of a model, in the names of chat completions. They are forwarded as given. */
export const samplingSchema = z.looseObject({
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().nullish(),
  max_tokens: z.int().nullish(),
  max_completion_tokens: z.int().nullish(),
  seed: z.int().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  presence_penalty: z.number().nullish(),
  frequency_penalty: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  logit_bias: givenObjectSchema.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().nullish(),
  response_format: givenObjectSchema.nullish(),
  reasoning_effort: z.string().nullish(),
  reasoning: givenObjectSchema.nullish(),
  verbosity: z.string().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  service_tier: z.string().nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  user: z.string().nullish(),
  chat_template_kwargs: givenObjectSchema.nullish(),
  thinking: givenObjectSchema.nullish(),
  enable_thinking: z.boolean().nullish(),
  provider: givenObjectSchema.nullish(),
  models: z.array(z.string()).nullish(),
  min_tokens: z.int().nullish(),
  stop_token_ids: z.array(z.int()).nullish(),
  ignore_eos: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
});

/** Body of `POST /v1/chat/completions`: OpenAI's fields and those that Proctor adds. */
export const chatRequestSchema = turnRequestSchema
  .extend({
    messages: z.array(chatMessageSchema).min(1),
    stream_options: z
      .looseObject({ include_usage: z.boolean().optional(), svc_events: z.boolean().optional() })
      .nullish(),
    n: z.int().optional(),
    functions: z.array(z.unknown()).nullish(),
    ...samplingSchema.shape,
  })
  .superRefine((request, context) => refuseFault(samplingOf(request), context));

/** Fields of a chat request that only the model reads. They are forwarded to the gateway unchanged. */
const SAMPLING_FIELDS = Object.keys(samplingSchema.shape);

/** The fields of a chat request that are forwarded to the gateway. */
export function samplingOf(given: Readonly<Record<string, unknown>>): JsonObject {
  const forwarded = SAMPLING_FIELDS.filter((name) => given[name] !== undefined && given[name] !== null);
  // The request was parsed from JSON.
  return Object.fromEntries(forwarded.map((name) => [name, given[name]])) as JsonObject;
}
