import { z } from 'zod';
import { givenObjectSchema, type JsonObject, refuseFault, scenarioArgsSchema } from './json.ts';
import { MAX_STEPS } from './names.ts';
import { modelNameSchema } from './run.ts';

const contentPartSchema = z.looseObject({ type: z.string() });

const chatMessageSchema = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(contentPartSchema)]).nullish(),
});
export type ChatMessage = z.infer<typeof chatMessageSchema>;

/**
 * Body of `POST /v1/chat/completions`: OpenAI's, with `scenario` and `scenario_args` on a first turn, and `thread_id` or
 * `conversation_id` (or the header `X-SVC-Session-Id`) on a later one.
 */
export const chatRequestSchema = z
  .looseObject({
    messages: z.array(chatMessageSchema).min(1),
    model: modelNameSchema.optional(),
    stream: z.boolean().optional(),
    stream_options: z
      .looseObject({ include_usage: z.boolean().optional(), svc_events: z.boolean().optional() })
      .nullish(),
    scenario: z.string().min(1).optional(),
    scenario_args: scenarioArgsSchema.optional(),
    thread_id: z.string().optional(),
    conversation_id: z.string().optional(),
    max_steps: z.int().min(1).max(MAX_STEPS.maximum).optional(),
    n: z.int().optional(),
    temperature: z.number().nullish(),
    top_p: z.number().nullish(),
    max_tokens: z.int().nullish(),
    max_completion_tokens: z.int().nullish(),
    seed: z.int().nullish(),
    stop: z.union([z.string(), z.array(z.string())]).nullish(),
    presence_penalty: z.number().nullish(),
    frequency_penalty: z.number().nullish(),
    logit_bias: givenObjectSchema.nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().nullish(),
    response_format: givenObjectSchema.nullish(),
    reasoning_effort: z.string().nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    user: z.string().nullish(),
  })
  // Also in fields that are forwarded without a schema of their own.
  .superRefine((request, context) => refuseFault(samplingOf(request), context));
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** Fields of a chat request that are the model's business: they are forwarded to the gateway as they are. */
const SAMPLING_FIELDS = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'max_tokens',
  'max_completion_tokens',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'response_format',
  'reasoning_effort',
  'reasoning',
  'verbosity',
  'parallel_tool_calls',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'user',
  'chat_template_kwargs',
  'thinking',
  'enable_thinking',
  'provider',
  'models',
  'min_tokens',
  'stop_token_ids',
  'ignore_eos',
  'return_token_ids',
] as const;

/** The fields of a chat request that are forwarded to the gateway. */
export function samplingOf(given: Readonly<Record<string, unknown>>): JsonObject {
  const forwarded = SAMPLING_FIELDS.filter((name) => given[name] !== undefined && given[name] !== null);
  return Object.fromEntries(forwarded.map((name) => [name, given[name]])) as JsonObject; // It came as JSON.
}

/** OpenAI's `usage`, with the details that every client reads. */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly completion_tokens_details: { readonly reasoning_tokens: number };
}
