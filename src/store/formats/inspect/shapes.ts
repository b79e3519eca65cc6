import { z } from 'zod';

const text = z.string().nullish();
const number = z.number().nullish();
const record = z.record(z.string(), z.unknown()).nullish();

const itemSchema = z.looseObject({ type: z.string() });
const contentSchema = z.union([z.string(), z.array(itemSchema)]).nullish();

export const messageSchema = z.looseObject({
  id: text,
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: contentSchema,
  source: text,
  metadata: record,
  model: text,
  tool_calls: z
    .array(
      z.looseObject({ id: z.string(), function: z.string(), arguments: z.unknown().optional(), parse_error: text }),
    )
    .nullish(),
  tool_call_id: z.union([z.string(), z.array(z.string())]).nullish(),
  function: text,
  error: z.looseObject({ type: text, message: text }).nullish(),
});
export type InspectMessage = z.infer<typeof messageSchema>;

const usageSchema = z.looseObject({
  input_tokens: number,
  output_tokens: number,
  total_tokens: number,
  input_tokens_cache_read: number,
  input_tokens_cache_write: number,
  reasoning_tokens: number,
  total_cost: number,
});
export type InspectUsage = z.infer<typeof usageSchema>;

const outputSchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        message: z.looseObject({ id: text, content: contentSchema }).nullish(),
        stop_reason: text,
        logprobs: z.json().nullish(),
      }),
    )
    .nullish(),
  usage: usageSchema.nullish(),
  time: number,
});

const scoreSchema = z.looseObject({ value: z.unknown().optional(), answer: text, explanation: text, metadata: record });
export type InspectScore = z.infer<typeof scoreSchema>;

export const sampleSchema = z.looseObject({
  id: z.union([z.string(), z.number()]),
  epoch: number,
  input: z.union([z.string(), z.array(messageSchema)]).nullish(),
  target: z.json().optional(),
  messages: z.array(messageSchema).nullish(),
  output: outputSchema.nullish(),
  scores: z.record(z.string(), scoreSchema).nullish(),
  metadata: record,
  events: z.array(z.looseObject({ event: text, timestamp: text })).nullish(),
  model_usage: z.record(z.string(), usageSchema).nullish(),
  total_time: number,
  started_at: text,
  completed_at: text,
  uuid: text,
  error: z.looseObject({ message: text }).nullish(),
  limit: z.looseObject({ type: text, limit: number }).nullish(),
  attachments: z.record(z.string(), z.string()).nullish(),
});
export type InspectSample = z.infer<typeof sampleSchema>;

export const modelEventSchema = z.looseObject({
  event: z.literal('model'),
  timestamp: text,
  working_time: number,
  output: outputSchema,
});
export type ModelEvent = z.infer<typeof modelEventSchema>;

export const toolEventSchema = z.looseObject({
  event: z.literal('tool'),
  id: z.string(),
  timestamp: text,
  completed: text,
  working_time: number,
});

/** Fields of a log except its samples. */
export const headerSchema = z.looseObject({
  version: z.unknown().optional(),
  eval: z.looseObject({
    eval_id: text,
    created: text,
    task: text,
    task_args: record,
    model: text,
  }),
});
export type InspectHeader = z.infer<typeof headerSchema>;
