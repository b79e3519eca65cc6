import { z } from 'zod';
import { type JsonObject, jsonObjectSchema } from './json.ts';
import type { contentPartSchema } from './scenario.ts';

/** A tool in the form in which it is offered to a model. */
export const agentToolSchema = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: z.record(z.string(), z.unknown()),
});
export type AgentTool = z.infer<typeof agentToolSchema>;

/** A call that a model made. `raw_arguments` keeps the text of arguments that were not a JSON object. */
const toolCallSchema = z.object({
  id: z.string(),
  name: z.string(),
  arguments: jsonObjectSchema,
  raw_arguments: z.string().nullable(),
});
export type ToolCall = z.infer<typeof toolCallSchema>;

/** One response of a model. `extra` holds provider fields that are sent back unchanged. */
export const assistantMessageSchema = z.object({
  role: z.literal('assistant'),
  content: z.string().nullable(),
  reasoning: z.string().nullable(),
  refusal: z.string().nullable().optional(),
  tool_calls: z.array(toolCallSchema),
  extra: jsonObjectSchema.optional(),
});
export type AssistantMessage = z.infer<typeof assistantMessageSchema>;

/** MCP content block: text, image, audio, resource or resource link. In a trace its bytes may be a blob reference. */
export const contentBlockSchema = z.looseObject({ type: z.string() });
export type ContentBlock = z.infer<typeof contentBlockSchema>;

/** One message of a model's transcript. The model layer turns it into the gateway's form. */
export type TranscriptMessage =
  | {
      readonly role: 'system' | 'developer' | 'user';
      readonly content: string | readonly z.infer<typeof contentPartSchema>[];
    }
  | AssistantMessage
  | {
      readonly role: 'tool';
      readonly tool_call_id: string;
      readonly name: string;
      readonly content: readonly ContentBlock[];
      /**
       * The structured result, where it is known. A model reads it when the result has no text; a solution receives it.
       */
      readonly structured_content?: JsonObject | null;
      readonly is_error: boolean;
    };

/** Tokens of one or of several model calls. `cost_usd` is null, never 0, where the gateway does not report a cost. */
export const usageSchema = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  cached_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost_usd: z.number().nullable(),
});
export type Usage = z.infer<typeof usageSchema>;

/** Usage of models that the harness calls: simulated users, judges, and questions of the environment's code. */
export const harnessUsageSchema = z.object({
  model_calls: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  cost_usd: z.number().nullable(),
});
export type HarnessUsage = z.infer<typeof harnessUsageSchema>;

export const finishReasonSchema = z.enum(['stop', 'length', 'tool_calls', 'content_filter']);
export type FinishReason = z.infer<typeof finishReasonSchema>;
