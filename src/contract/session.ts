import { z } from 'zod';
import { givenJsonSchema, jsonObjectSchema } from './json.ts';
import { evaluationSchema } from './scenario.ts';
import { timeSchema } from './service/trace.ts';

/** A session of the scenario server (contract section 2, "States"). */
export const sessionStatusSchema = z.enum(['active', 'finished', 'expired', 'abandoned', 'failed']);
export type SessionStatus = z.infer<typeof sessionStatusSchema>;

/** The three names of one id: `thread_id` and `conversation_id` always equal `session_id`. */
const sessionIdsSchema = z.object({ session_id: z.string(), thread_id: z.string(), conversation_id: z.string() });
export type SessionIds = z.infer<typeof sessionIdsSchema>;

export function toSessionIds(id: string): SessionIds {
  return { session_id: id, thread_id: id, conversation_id: id };
}

const traceLinkSchema = z.object({ trace_id: z.string(), trace_url: z.string() });

/** `svc` of a chat reply, and of the answers of `scenario_start` and `scenario_send`. */
export const svcSchema = z.object({
  ...sessionIdsSchema.shape,
  ...traceLinkSchema.shape,
  /** Short name of the scenario. */
  scenario: z.string(),
  status: sessionStatusSchema,
  /** Steps of the session so far. */
  steps: z.int(),
});
export type Svc = z.infer<typeof svcSchema>;

/** An entry of `GET /v1/sessions`. */
export const sessionEntrySchema = z.object({
  ...sessionIdsSchema.shape,
  ...traceLinkSchema.shape,
  scenario: z.string(),
  scenario_args: jsonObjectSchema,
  model: z.string(),
  status: sessionStatusSchema,
  created_at: timeSchema,
  last_active_at: timeSchema,
  idle_seconds: z.int(),
  turns: z.int(),
  steps: z.int(),
});
export type SessionEntry = z.infer<typeof sessionEntrySchema>;

export const sessionListSchema = z.object({ object: z.literal('list'), sessions: z.array(sessionEntrySchema) });

/** Optional body of `POST /v1/sessions/{id}/finish`. A null answer counts as no answer. */
export const finishRequestSchema = z.looseObject({ answer: givenJsonSchema.optional() }).optional();

/** The result of finishing, the same at every call. */
export const finishResultSchema = z.object({
  ...sessionIdsSchema.shape,
  answer: z.json(),
  reward: z.number(),
  evaluation: evaluationSchema,
  ...traceLinkSchema.shape,
  status: z.enum(['finished', 'expired']),
});
export type FinishedSession = z.infer<typeof finishResultSchema>;
