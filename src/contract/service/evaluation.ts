import { z } from 'zod';
import { usageSchema } from '../chat.ts';
import { runErrorSchema } from '../error-shapes.ts';
import { jsonObjectSchema } from '../json.ts';
import { MAX_STEPS } from '../names.ts';
import { EVALUATION_LIMITS, taskSchema } from '../task.ts';
import { outcomeCountsSchema, outcomeSchema } from './outcome.ts';
import { agentNameSchema, modelNameSchema, runRequestSchema } from './run.ts';
import { timeSchema } from './trace.ts';

export const EVALUATION_ID_PATTERN = /^eval_[0-9a-f]{32}$/;

export const DEFAULT_CONCURRENCY = 32;

export const evaluationStatusSchema = z.enum(['running', 'paused', 'completed', 'cancelled']);
export type EvaluationStatus = z.infer<typeof evaluationStatusSchema>;

const budgetSchema = z.object({ usd: z.number().positive().optional(), tokens: z.int().positive().optional() });
export type Budget = z.infer<typeof budgetSchema>;

const attemptsSchema = z.int().min(1).max(EVALUATION_LIMITS.attempts);
const concurrencySchema = z.int().min(1).max(10_000);

/** Source of the tasks of a request: the name of the taskset, and positions in its file for messages. */
const tasksFromSchema = z.object({
  name: z.string().max(255).nullable().default(null),
  file: z.string().min(1).max(4_096),
  /** Lines count from 1, indices from 0. */
  by: z.enum(['line', 'index']),
  /** The line or index of each task. */
  positions: z.array(z.int().min(0)),
});

/** Body of `POST /v1/evaluations` (contract section 7). */
export const evaluationRequestSchema = z.object({
  name: z.string().min(1).max(200).nullable().default(null),
  /** Name of a taskset, or the tasks themselves. */
  tasks: z.union([z.string().min(1), z.array(taskSchema).min(1)]),
  /** The file that the tasks of the request come from. Null: messages name a task as `tasks[3]`. */
  tasks_from: tasksFromSchema.nullable().default(null),
  /**
   * Selects tasks, as `--only` does: `tag=…`, `ids=a,b`, `first=N`, `sample=N:seed`, `shard=i/n`. `failed` and
   * `errored` select by the results of the existing evaluation with the same settings.
   */
  only: z.array(z.string().min(1)).max(100).default([]),
  /** At least one model, unless the agent brings its own. */
  models: z.array(modelNameSchema).max(100).default([]),
  attempts: attemptsSchema.default(1),
  /** The agent that plays, a command on the workers. Null: the models play directly. */
  agent: agentNameSchema.nullable().default(null),
  /** Model of the simulated users. Null: the model of the scenario, else `models.user` of the configuration. */
  user_model: modelNameSchema.nullable().default(null),
  /** Model of the judges. Null: the model of the question, else `models.judge` of the configuration. */
  judge_model: modelNameSchema.nullable().default(null),
  /** Default for tasks that set no limit of their own. */
  max_steps: z.int().min(1).max(MAX_STEPS.maximum).nullable().default(null),
  timeout_seconds: z.int().min(1).max(86_400).nullable().default(null),
  sampling: runRequestSchema.shape.sampling,
  seed: z.int().nullable().default(null),
  concurrency: concurrencySchema.default(DEFAULT_CONCURRENCY),
  budget: budgetSchema.nullable().default(null),
  pass_threshold: z.number().default(1),
  metadata: runRequestSchema.shape.metadata,
  /** The evaluation whose failed tasks this one runs again. */
  parent: z.string().min(1).nullable().default(null),
  /** True continues the latest evaluation with the same settings that was not cancelled, if one exists. */
  resume: z.boolean().default(false),
  /** True leaves it `paused` until `POST /v1/evaluations/{id}/resume`. One that is running goes on. */
  paused: z.boolean().default(false),
});
export type EvaluationInput = z.input<typeof evaluationRequestSchema>;

export const evaluationPatchSchema = z.object({
  attempts: attemptsSchema.optional(),
  concurrency: concurrencySchema.optional(),
  budget: budgetSchema.nullable().optional(),
});
export type EvaluationPatch = z.infer<typeof evaluationPatchSchema>;

export const rerunRequestSchema = z.object({ outcomes: z.array(outcomeSchema).min(1) });

export const evaluationAcceptedSchema = z.object({
  evaluation_id: z.string(),
  evaluation_url: z.string(),
  status: evaluationStatusSchema,
  /** False when an existing evaluation continues. */
  is_new: z.boolean(),
});
export type EvaluationAccepted = z.infer<typeof evaluationAcceptedSchema>;

/** 95 % confidence interval, not clipped to any range. */
const intervalSchema = z.tuple([z.number(), z.number()]).nullable();
const rateSchema = z.object({ value: z.number().nullable(), ci95: intervalSchema });
const passAtSchema = z.record(
  z.string(),
  z.object({
    value: z.number().nullable(),
    tasks: z.int(),
    /** Number of tasks with fewer valid attempts than k. */
    left_out: z.int(),
  }),
);
const spreadSchema = z.object({ median: z.number().nullable(), p95: z.number().nullable() });

/** The results of one model (contract section 7, "Report"). */
export const reportSchema = z.object({
  model: z.string(),
  n_tasks: z.int(),
  /** All attempts of the model: tasks × attempts. */
  n_attempts: z.int(),
  /** Share of the attempts that have a reward. */
  coverage: z.number(),
  /** Mean of the task means, over tasks with at least one valid attempt. */
  mean: z.number().nullable(),
  /** Mean over all attempts; an attempt without a reward counts 0. */
  mean_missing_as_zero: z.number(),
  stderr: z.number().nullable(),
  ci95: intervalSchema,
  pass_rate: rateSchema,
  /** Values by k: 1, 2, 4, 8, ... up to the attempts of a task. */
  pass_at_k: passAtSchema,
  pass_hat_k: passAtSchema,
  outcomes: outcomeCountsSchema,
  reruns: z.int(),
  tokens: z.object({ prompt: z.int(), completion: z.int(), total: z.int() }),
  /** US dollars; null where a price is unknown. */
  cost: z.object({
    agent: z.number().nullable(),
    user: z.number().nullable(),
    judge: z.number().nullable(),
    total: z.number().nullable(),
  }),
  /** US dollars of attempts that were run again. `cost` does not include them. Null where a price is unknown. */
  reruns_cost: z.number().nullable(),
  /** Milliseconds from the start of the first attempt to the end of the last one. */
  wall_ms: z.int().nullable(),
  steps: spreadSchema,
  duration_ms: spreadSchema,
  /**
   * Smallest difference of rewards that a comparison with another model on other tasks would detect, with power 0.8 at
   * the 5 % level.
   */
  smallest_detectable_difference: z.number().nullable(),
});
export type Report = z.infer<typeof reportSchema>;

export const progressSchema = z.object({
  done: z.int(),
  total: z.int(),
  /** Number of attempts that are running now. */
  running: z.int(),
  /** Number of attempts that wait for a worker or for a free run of their key. */
  queued: z.int().optional(),
  reruns: z.int(),
  outcomes: outcomeCountsSchema,
  /** Total spending, including attempts that were run again. */
  spent: z.object({ usd: z.number().nullable(), tokens: z.int() }),
});
export type Progress = z.infer<typeof progressSchema>;

/** An evaluation in a list. */
export const evaluationSummarySchema = z.object({
  object: z.literal('evaluation'),
  evaluation_id: z.string(),
  evaluation_url: z.string(),
  name: z.string().nullable(),
  status: evaluationStatusSchema,
  created_at: timeSchema,
  finished_at: timeSchema.nullable(),
  /** The evaluation whose failed tasks this one runs again. */
  parent: z.string().nullable(),
  taskset: z.object({ name: z.string().nullable(), version: z.string(), tasks: z.int() }),
  models: z.array(z.string()),
  agent: z.string().nullable(),
  user_model: z.string().nullable(),
  judge_model: z.string().nullable(),
  attempts: z.int(),
  max_steps: z.int().nullable(),
  timeout_seconds: z.int().nullable(),
  sampling: jsonObjectSchema,
  seed: z.int().nullable(),
  concurrency: z.int(),
  budget: budgetSchema.nullable(),
  pass_threshold: z.number(),
  metadata: z.record(z.string(), z.string()),
  progress: progressSchema,
  reports: z.array(reportSchema),
});
export type EvaluationSummary = z.infer<typeof evaluationSummarySchema>;

/** A change of the number of concurrent calls to one model. */
const limitChangeSchema = z.object({
  at: timeSchema,
  model: z.string(),
  /** Concurrent calls; 0 while the gateway is away. */
  limit: z.number(),
  reason: z.enum(['start', 'grown', 'refused', 'server_error', 'held', 'released']),
});
export type LimitChange = z.infer<typeof limitChangeSchema>;

/** Answer of `GET /v1/evaluations/{id}`. */
export const evaluationDetailSchema = evaluationSummarySchema.extend({
  /** Number of attempts by the hash of the environment's code. */
  environment_hashes: z.record(z.string(), z.int()),
  /** Environments whose code was not the same for all attempts. */
  changed_environments: z.array(z.string()),
  concurrency_history: z.array(limitChangeSchema),
  /** Attempts whose environment died during a tool call in every run. */
  suspects: z.array(
    z.object({ task_id: z.string(), model: z.string(), attempt_index: z.int(), suspect: z.literal('agent') }),
  ),
});
export type EvaluationDetail = z.infer<typeof evaluationDetailSchema>;

export const evaluationListSchema = z.object({
  object: z.literal('list'),
  data: z.array(evaluationSummarySchema),
  next_cursor: z.string().nullable(),
});
export type EvaluationList = z.infer<typeof evaluationListSchema>;

/** One attempt, in its latest run. `trace_id` is null before it starts. */
export const evaluationAttemptSchema = z.object({
  trace_id: z.string().nullable(),
  trace_url: z.string().nullable(),
  model: z.string(),
  task_id: z.string(),
  /** Counted from 1. */
  attempt_index: z.int(),
  outcome: outcomeSchema.nullable(),
  reward: z.number().nullable(),
  passed: z.boolean(),
  seed: z.int().nullable(),
  reruns: z.int(),
  steps: z.int(),
  usage: usageSchema,
  cost_usd: z.number().nullable(),
  duration_ms: z.int().nullable(),
  error: runErrorSchema.nullable(),
});
export type EvaluationAttempt = z.infer<typeof evaluationAttemptSchema>;

export const attemptListSchema = z.object({
  object: z.literal('list'),
  data: z.array(evaluationAttemptSchema),
  next_cursor: z.string().nullable(),
});
export type AttemptList = z.infer<typeof attemptListSchema>;

/** One task with one model. */
export const taskRowSchema = z.object({
  task_id: z.string(),
  model: z.string(),
  cluster: z.string(),
  attempts: z.int(),
  /** Number of attempts with a reward. */
  valid: z.int(),
  mean: z.number().nullable(),
  /** Number of valid attempts at or above the threshold. */
  passed: z.int(),
  pass_rate: z.number().nullable(),
  outcomes: outcomeCountsSchema,
});
export type TaskRow = z.infer<typeof taskRowSchema>;

export const taskListSchema = z.object({
  object: z.literal('list'),
  data: z.array(taskRowSchema),
  next_cursor: z.string().nullable(),
});
export type TaskList = z.infer<typeof taskListSchema>;

/** At most the first 1,000 ids. */
const idsSchema = z.array(z.string());

/** Two models compared on their common tasks. Differences are b − a. */
export const comparisonSchema = z.object({
  a_model: z.string(),
  b_model: z.string(),
  n_tasks: z.int(),
  a_mean: z.number().nullable(),
  b_mean: z.number().nullable(),
  difference: z.number().nullable(),
  stderr: z.number().nullable(),
  ci95: intervalSchema,
  p_value: z.number().nullable(),
  /** P value, corrected for all comparisons of the answer. */
  p_holm: z.number().nullable(),
  test: z.enum(['mcnemar', 'paired_t']),
  smallest_detectable_difference: z.number().nullable(),
  /** Tasks on which b is better. */
  won: idsSchema,
  lost: idsSchema,
  tied: idsSchema,
  only_a: idsSchema,
  only_b: idsSchema,
  /** Tasks with the same id but another environment, scenario or arguments. They are not paired. */
  changed: idsSchema,
  won_count: z.int(),
  lost_count: z.int(),
  tied_count: z.int(),
  only_a_count: z.int(),
  only_b_count: z.int(),
  changed_count: z.int(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

/** Answer of `GET /v1/evaluations/compare`. */
export const comparisonListSchema = z.object({
  object: z.literal('comparison'),
  a: z.string(),
  b: z.string(),
  comparisons: z.array(comparisonSchema),
  /** Reasons to doubt the comparison: changed code, other thresholds, missing attempts. */
  warnings: z.array(z.string()),
});
export type ComparisonList = z.infer<typeof comparisonListSchema>;
