import { z } from 'zod';
import {
  agentToolSchema,
  assistantMessageSchema,
  contentBlockSchema,
  finishReasonSchema,
  harnessUsageSchema,
  usageSchema,
} from '../chat.ts';
import { runErrorSchema } from '../error-shapes.ts';
import { jsonObjectSchema } from '../json.ts';
import { evaluationSchema, promptMessageSchema, sandboxEndSchema, sandboxFactsSchema } from '../scenario.ts';
import { judgeScaleSchema, judgeVoteSchema } from './judge.ts';
import { outcomeSchema } from './outcome.ts';
import { gradeSchema, parentSchema, replayResultSchema } from './replay.ts';
import { runStatusSchema } from './run.ts';

/** ISO 8601, UTC, milliseconds. */
export const timeSchema = z.string();

export const originSchema = z.enum(['run', 'chat', 'eval', 'agent', 'replay', 'check', 'import', 'ors', 'openenv']);
export type Origin = z.infer<typeof originSchema>;

/**
 * Reasons why a run or a chat session stopped. `answered` to `error` are those of runs. `user_turns` means that the
 * simulated user had no reply left. `expired` and `abandoned` are those of chat sessions.
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

/** Protocols that an agent at a seat may use for its model calls. */
const seatDialectSchema = z.enum(['chat', 'responses', 'messages', 'gemini']);

/** A request of an agent at a seat to its model. */
export const stepInputSchema = z.object({
  dialect: seatDialectSchema,
  /** The name that the agent sent. The model of the run answered. */
  model: z.string(),
  /** Messages since the last step of the same conversation. All messages on its first step, and after a compaction. */
  messages: z.array(jsonObjectSchema),
  /** The tools in the request; absent when they are those of the last step of the same conversation. */
  tools: z.array(agentToolSchema).optional(),
});
export type StepInput = z.infer<typeof stepInputSchema>;

const stepSchema = z.object({
  step: z.int(),
  turn: z.int(),
  /**
   * At a seat: null for the main conversation, a name for a side one, such as a title or a sub-agent. Absent elsewhere.
   */
  branch: z.string().nullable().optional(),
  /** At a seat: true when the agent replaced the earlier messages by its own summary. */
  compacted: z.boolean().optional(),
  input: stepInputSchema.optional(),
  started_at: timeSchema,
  model_ms: z.int(),
  message: assistantMessageSchema,
  finish_reason: finishReasonSchema,
  usage: usageSchema,
  token_ids: z.json(),
  logprobs: z.json(),
  retries: z.int(),
  /** True when the step was copied from the parent without a model call. Its usage is 0. */
  repeated: z.boolean().optional(),
  tool_results: z.array(toolResultSchema),
});
export type Step = z.infer<typeof stepSchema>;

/**
 * A mismatch between the tool calls in the responses of the model and the calls that its agent made over MCP.
 * `not_called`: the agent did not make the call. `result_changed`: the agent told its model another result.
 * `not_asked_for`: no response of the model asked for the call.
 */
export const ledgerEntrySchema = z.object({
  /** The step that asked. For `not_asked_for`: the last main step before the call, or 0 without one. */
  step: z.int(),
  tool_call_id: z.string(),
  kind: z.enum(['not_called', 'result_changed', 'not_asked_for']),
  /** Bare name of the tool. */
  name: z.string(),
  /** Text of the environment's result. For `not_called`: the arguments as JSON. Null without a result. */
  expected: z.string().nullable(),
  /** Text that the model was told. For `not_asked_for`: the arguments as JSON. Null if the model was told nothing. */
  reported: z.string().nullable(),
});
export type LedgerEntry = z.infer<typeof ledgerEntrySchema>;

export const turnStatusSchema = z.enum(['running', 'answered', 'max_steps', 'length', 'failed', 'aborted']);
export type TurnStatus = z.infer<typeof turnStatusSchema>;

/** A reply of a simulated user. */
export const userReplyRecordSchema = z.object({
  /** Null when the user said nothing more. */
  message: z.string().nullable(),
  /** True when the conversation ends with this reply. */
  is_over: z.boolean(),
  /** Null when the user is a function or a script. */
  model: z.string().nullable(),
  /** Functions that the user called before the reply. */
  calls: z.array(z.object({ name: z.string(), arguments: jsonObjectSchema, text: z.string(), is_error: z.boolean() })),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
  /** True when the reply was copied from the parent. Its usage is 0. */
  repeated: z.boolean().optional(),
});
export type UserReplyRecord = z.infer<typeof userReplyRecordSchema>;

/** Verdict of a judge on material of an evaluation. */
export const judgementRecordSchema = z.object({
  model: z.string(),
  /**
   * SHA-256 of model, rubric, material, context, scale and number of votes, in hex. Equal questions have equal keys.
   */
  key: z.string(),
  rubric: z.string(),
  /** The first characters of the material, at most 4,000. */
  material: z.string(),
  scale: judgeScaleSchema,
  score: z.number(),
  agreement: z.number(),
  votes: z.array(judgeVoteSchema),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
  /** True when the votes were copied from the parent. Its usage is 0. */
  repeated: z.boolean().optional(),
});
export type JudgementRecord = z.infer<typeof judgementRecordSchema>;

const turnSchema = z.object({
  turn: z.int(),
  started_at: timeSchema,
  finished_at: timeSchema.nullable(),
  messages: z.array(promptMessageSchema),
  status: turnStatusSchema,
  steps: z.array(z.int()),
  /** The message with which a simulated user began the conversation; only in the first turn. */
  opening: userReplyRecordSchema.optional(),
  /** The simulated user's reply to the text that ended the turn. */
  user: userReplyRecordSchema.optional(),
});

export const logSchema = z.object({
  at: timeSchema,
  level: z.enum(['debug', 'info', 'warning', 'error']),
  logger: z.string(),
  message: z.string(),
});
export type LogRecord = z.infer<typeof logSchema>;

/** The trace (contract section 4). It is computed from the trace's events alone. */
export const traceSchema = z.object({
  object: z.literal('trace'),
  version: z.literal(1),
  trace_id: z.string(),
  trace_url: z.string(),
  origin: originSchema,
  status: runStatusSchema,
  stop_reason: stopReasonSchema.nullable(),
  /** The outcome, in the terms of evaluations; null until the run ends. */
  outcome: outcomeSchema.nullable(),
  /** The evaluation that the run belongs to; null outside of evaluations. */
  evaluation_id: z.string().nullable(),
  task_id: z.string().nullable(),
  /** Counted from 1. */
  attempt_index: z.int().nullable(),
  /** How many times this attempt was run before; 0 outside of evaluations. */
  rerun: z.int(),
  /** True when the attempt was run again and a later trace replaces this one. */
  superseded: z.boolean(),
  /** The trace that this one repeats, in whole or in part; null for other traces. */
  parent: parentSchema.nullable(),
  /** Comparison with the replayed trace; null until the end, and for other traces. */
  replay: replayResultSchema.nullable(),
  attempt: z.int(),
  attempts: z.array(
    z.object({
      attempt: z.int(),
      started_at: timeSchema.nullable(),
      ended_at: timeSchema.nullable(),
      end: attemptEndSchema.nullable(),
      /** The reason why the attempt was lost or failed; null where it is unknown. */
      error: runErrorSchema.nullable(),
    }),
  ),
  env_name: z.string(),
  scenario_name: z.string(),
  scenario_args: jsonObjectSchema,
  /** The name in the request. */
  model: z.string(),
  /** Name of the agent that played as a command. Absent when the model played directly. */
  agent: z.string().optional(),
  /** The provider's name of the model. It differs from `model` when that is a registered name. */
  model_target: z.string(),
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
  /** Sandboxes of the session. Absent without one. */
  sandboxes: z
    .array(
      sandboxFactsSchema.extend({
        /** The state after the agent has ended; null before, and if that could not be read. */
        end: sandboxEndSchema.omit({ name: true }).nullable(),
        /** Destinations that the proxy refused, at most 100. */
        refused: z.array(z.object({ host: z.string(), port: z.int() })),
      }),
    )
    .optional(),
  turns: z.array(turnSchema),
  steps: z.array(stepSchema),
  /** Tool calls of an agent at a seat that none of its steps asked for, in order of arrival. */
  tool_calls: z.array(toolResultSchema).optional(),
  /** Mismatches between model calls and tool calls of an agent at a seat with a model. Absent elsewhere. */
  ledger: z.array(ledgerEntrySchema).optional(),
  answer: z.json(),
  reward: z.number().nullable(),
  evaluation: evaluationSchema.nullable(),
  /** Later evaluations, oldest first. `reward` and `evaluation` stay those of the run. */
  grades: z.array(gradeSchema),
  /** Verdicts of judges. Absent when no judge was asked. */
  judgements: z.array(judgementRecordSchema).optional(),
  /** Usage of the agent. Models that the harness calls are counted apart, in `user`, `judge` and `sample`. */
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
    /** Time to get images and to start sandboxes. Absent without a sandbox. */
    sandbox_ms: z.int().optional(),
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

/** A trace in a list. */
export const traceSummarySchema = traceSchema.omit({
  sandboxes: true,
  steps: true,
  tool_calls: true,
  ledger: true,
  logs: true,
});
export type TraceSummary = z.infer<typeof traceSummarySchema>;

export const traceListSchema = z.object({
  object: z.literal('list'),
  data: z.array(traceSummarySchema),
  next_cursor: z.string().nullable(),
});
export type TraceList = z.infer<typeof traceListSchema>;
