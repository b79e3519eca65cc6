import { z } from 'zod';
import {
  agentToolSchema,
  assistantMessageSchema,
  contentBlockSchema,
  finishReasonSchema,
  harnessUsageSchema,
  usageSchema,
} from './chat.ts';
import { runErrorSchema } from './errors.ts';
import { jsonObjectSchema } from './json.ts';
import { judgeScaleSchema, judgeVoteSchema } from './judge.ts';
import { outcomeSchema } from './outcome.ts';
import { runStatusSchema } from './run.ts';
import { evaluationSchema, promptMessageSchema } from './scenario.ts';

/** ISO 8601, UTC, milliseconds. */
export const timeSchema = z.string();

export const originSchema = z.enum(['run', 'chat', 'eval', 'agent', 'replay', 'check', 'import', 'ors', 'openenv']);
export type Origin = z.infer<typeof originSchema>;

/**
 * `answered` to `error` are those of runs, and `user_turns`: the simulated user had no reply left. `expired` and
 * `abandoned` are those of chat sessions.
 */
export const stopReasonSchema = z.enum([
  'answered',
  'max_steps',
  'length',
  'timeout',
  'cancelled',
  'error',
  'expired',
  'abandoned',
  'user_turns',
]);
export type StopReason = z.infer<typeof stopReasonSchema>;

export const attemptEndSchema = z.enum(['completed', 'failed', 'cancelled', 'lost', 'released']);
export type AttemptEnd = z.infer<typeof attemptEndSchema>;

export const versionsSchema = z.object({
  proctor: z.string(),
  environment: z.string().nullable(),
  environment_hash: z.string().nullable(),
  protocol: z.string().nullable(),
  node: z.string(),
});

const toolResultSchema = z.object({
  tool_call_id: z.string(),
  name: z.string(),
  arguments: jsonObjectSchema,
  raw_arguments: z.string().nullable(),
  content: z.array(contentBlockSchema),
  structured_content: z.json(),
  is_error: z.boolean(),
  duration_ms: z.int(),
});
export type ToolResultRecord = z.infer<typeof toolResultSchema>;

const stepSchema = z.object({
  step: z.int(),
  turn: z.int(),
  started_at: timeSchema,
  model_ms: z.int(),
  message: assistantMessageSchema,
  finish_reason: finishReasonSchema,
  usage: usageSchema,
  token_ids: z.json(),
  logprobs: z.json(),
  retries: z.int(),
  tool_results: z.array(toolResultSchema),
});
export type Step = z.infer<typeof stepSchema>;

export const turnStatusSchema = z.enum(['running', 'answered', 'max_steps', 'length', 'failed', 'aborted']);
export type TurnStatus = z.infer<typeof turnStatusSchema>;

const userReplyRecordSchema = z.object({
  message: z.string().nullable(),
  is_over: z.boolean(),
  model: z.string().nullable(),
  calls: z.array(z.object({ name: z.string(), arguments: jsonObjectSchema, text: z.string(), is_error: z.boolean() })),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
});
export type UserReplyRecord = z.infer<typeof userReplyRecordSchema>;

const judgementRecordSchema = z.object({
  model: z.string(),
  key: z.string(),
  rubric: z.string(),
  material: z.string(),
  scale: judgeScaleSchema,
  score: z.number(),
  agreement: z.number(),
  votes: z.array(judgeVoteSchema),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
});
export type JudgementRecord = z.infer<typeof judgementRecordSchema>;

const turnSchema = z.object({
  turn: z.int(),
  started_at: timeSchema,
  finished_at: timeSchema.nullable(),
  messages: z.array(promptMessageSchema),
  status: turnStatusSchema,
  steps: z.array(z.int()),
  /** The reply of a simulated user to the text that ended it. */
  user: userReplyRecordSchema.optional(),
});

export const logSchema = z.object({
  at: timeSchema,
  level: z.enum(['debug', 'info', 'warning', 'error']),
  logger: z.string(),
  message: z.string(),
});
export type LogRecord = z.infer<typeof logSchema>;

/** Contract section 4. A projection of the trace's events, and of them alone. */
export const traceSchema = z.object({
  object: z.literal('trace'),
  version: z.literal(1),
  trace_id: z.string(),
  trace_url: z.string(),
  origin: originSchema,
  status: runStatusSchema,
  stop_reason: stopReasonSchema.nullable(),
  /** How it ended, in the words of evaluations; null until then. */
  outcome: outcomeSchema.nullable(),
  /** The attempt of an evaluation that it is; null elsewhere. */
  evaluation_id: z.string().nullable(),
  task_id: z.string().nullable(),
  /** From 1. */
  attempt_index: z.int().nullable(),
  /** How many times this attempt of the evaluation was run before; 0 elsewhere. */
  rerun: z.int(),
  /** True: the attempt was run again, and another trace is its latest. */
  superseded: z.boolean(),
  attempt: z.int(),
  attempts: z.array(
    z.object({
      attempt: z.int(),
      started_at: timeSchema.nullable(),
      ended_at: timeSchema.nullable(),
      end: attemptEndSchema.nullable(),
      /** Why it was lost or failed; null where that is not known. */
      error: runErrorSchema.nullable(),
    }),
  ),
  env_name: z.string(),
  scenario_name: z.string(),
  scenario_args: jsonObjectSchema,
  model: z.string(),
  max_steps: z.int(),
  seed: z.int().nullable(),
  sampling: jsonObjectSchema,
  metadata: z.record(z.string(), z.string()),
  versions: versionsSchema,
  created_at: timeSchema,
  started_at: timeSchema.nullable(),
  finished_at: timeSchema.nullable(),
  system: z.string().nullable(),
  prompt: z.array(promptMessageSchema),
  tools: z.array(agentToolSchema),
  turns: z.array(turnSchema),
  steps: z.array(stepSchema),
  /** Calls of an agent that brings its own model, in the order in which they came; there without steps alone. */
  tool_calls: z.array(toolResultSchema).optional(),
  answer: z.json(),
  reward: z.number().nullable(),
  evaluation: evaluationSchema.nullable(),
  /** Verdicts of judges in the evaluation; there where one was asked. */
  judgements: z.array(judgementRecordSchema).optional(),
  /** Usage of the agent. Models that the harness calls are apart, there where they were called. */
  usage: usageSchema.extend({
    model_calls: z.int(),
    tool_calls: z.int(),
    user: harnessUsageSchema.optional(),
    judge: harnessUsageSchema.optional(),
    sample: harnessUsageSchema.optional(),
  }),
  timing: z.object({
    queued_ms: z.int(),
    environment_ms: z.int(),
    setup_ms: z.int(),
    model_ms: z.int(),
    tool_ms: z.int(),
    evaluate_ms: z.int(),
    total_ms: z.int(),
  }),
  error: runErrorSchema.nullable(),
  logs: z.array(logSchema),
});
export type Trace = z.infer<typeof traceSchema>;

/** A trace as lists hold it. */
export const traceSummarySchema = traceSchema.omit({ steps: true, tool_calls: true, logs: true });
export type TraceSummary = z.infer<typeof traceSummarySchema>;

export const traceListSchema = z.object({
  object: z.literal('list'),
  data: z.array(traceSummarySchema),
  next_cursor: z.string().nullable(),
});
export type TraceList = z.infer<typeof traceListSchema>;
