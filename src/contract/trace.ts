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
import { gradeSchema, parentSchema, replayResultSchema } from './replay.ts';
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

/** Protocols in which an agent at a seat asks its model. */
const seatDialectSchema = z.enum(['chat', 'responses', 'messages', 'gemini']);

/** The request of an agent at a seat to its model. */
export const stepInputSchema = z.object({
  dialect: seatDialectSchema,
  /** The name that the agent sent; the model of the run has answered. */
  model: z.string(),
  /** Its messages since the last step of the same conversation; all of them where there is none, or after a compaction. */
  messages: z.array(jsonObjectSchema),
  /** The tools that it offered; absent where they are those of the last step of the same conversation. */
  tools: z.array(agentToolSchema).optional(),
});
export type StepInput = z.infer<typeof stepInputSchema>;

const stepSchema = z.object({
  step: z.int(),
  turn: z.int(),
  /** At a seat: null for the main conversation, a name for one beside it, such as a title or a sub-agent. Absent elsewhere. */
  branch: z.string().nullable().optional(),
  /** At a seat: the agent has replaced what came before by a summary of its own. */
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
  /** True: it is a step of the parent, done again without a model. Its usage is 0. */
  repeated: z.boolean().optional(),
  tool_results: z.array(toolResultSchema),
});
export type Step = z.infer<typeof stepSchema>;

/**
 * A difference between the calls that the model of an agent at a seat asked for and those that the agent made over MCP:
 * `not_called` the agent made none; `result_changed` its model was told another result; `not_asked_for` no model asked.
 */
export const ledgerEntrySchema = z.object({
  /** The step that asked; for `not_asked_for` the last main step before the call, 0 where there was none. */
  step: z.int(),
  tool_call_id: z.string(),
  kind: z.enum(['not_called', 'result_changed', 'not_asked_for']),
  /** Bare name of the tool. */
  name: z.string(),
  /** Text of the environment's result; for `not_called` the arguments as JSON. Null where there is none. */
  expected: z.string().nullable(),
  /** Text that the model was told; for `not_asked_for` the arguments as JSON. Null where it was told nothing. */
  reported: z.string().nullable(),
});
export type LedgerEntry = z.infer<typeof ledgerEntrySchema>;

export const turnStatusSchema = z.enum(['running', 'answered', 'max_steps', 'length', 'failed', 'aborted']);
export type TurnStatus = z.infer<typeof turnStatusSchema>;

/** Reply of a simulated user. */
export const userReplyRecordSchema = z.object({
  /** Null: nothing more was said. */
  message: z.string().nullable(),
  /** The conversation ends with it. */
  is_over: z.boolean(),
  /** Null for a function and a script. */
  model: z.string().nullable(),
  /** Functions that the user called first. */
  calls: z.array(z.object({ name: z.string(), arguments: jsonObjectSchema, text: z.string(), is_error: z.boolean() })),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
  /** True: it is a reply of the parent. Its usage is 0. */
  repeated: z.boolean().optional(),
});
export type UserReplyRecord = z.infer<typeof userReplyRecordSchema>;

/** Verdict of a judge on material of an evaluation. */
export const judgementRecordSchema = z.object({
  model: z.string(),
  /** SHA-256 of model, rubric, material, context, scale and number of votes, hex: an equal question has an equal key. */
  key: z.string(),
  rubric: z.string(),
  /** As the judge read it, at most 4,000 characters. */
  material: z.string(),
  scale: judgeScaleSchema,
  score: z.number(),
  agreement: z.number(),
  votes: z.array(judgeVoteSchema),
  usage: harnessUsageSchema,
  duration_ms: z.int(),
  /** True: its votes are those of the parent. Its usage is 0. */
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
  /** How a simulated user began the conversation; in the first turn alone. */
  opening: userReplyRecordSchema.optional(),
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
  /** The trace that it repeats, wholly or in part; null elsewhere. */
  parent: parentSchema.nullable(),
  /** How it compares to the trace that it replays; null until then, and elsewhere. */
  replay: replayResultSchema.nullable(),
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
  /** As it was asked for. */
  model: z.string(),
  /** Name of the agent that played as a command; there for such traces alone. */
  agent: z.string().optional(),
  /** The provider's name of it: another one where `model` is the name of a registered model. */
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
  turns: z.array(turnSchema),
  steps: z.array(stepSchema),
  /** Calls of an agent at a seat that none of its steps asked for, in the order in which they came. */
  tool_calls: z.array(toolResultSchema).optional(),
  /** Differences between the model calls and the tool calls of an agent at a seat with a model. Absent elsewhere. */
  ledger: z.array(ledgerEntrySchema).optional(),
  answer: z.json(),
  reward: z.number().nullable(),
  evaluation: evaluationSchema.nullable(),
  /** Later evaluations, oldest first. `reward` and `evaluation` stay those of the run. */
  grades: z.array(gradeSchema),
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
export const traceSummarySchema = traceSchema.omit({ steps: true, tool_calls: true, ledger: true, logs: true });
export type TraceSummary = z.infer<typeof traceSummarySchema>;

export const traceListSchema = z.object({
  object: z.literal('list'),
  data: z.array(traceSummarySchema),
  next_cursor: z.string().nullable(),
});
export type TraceList = z.infer<typeof traceListSchema>;
