import { z } from 'zod';
import { runErrorSchema } from '../error-shapes.ts';
import { differenceSchema } from './replay.ts';
import { timeSchema } from './trace.ts';

export const REGRADE_ID_PATTERN = /^regrade_[0-9a-f]{32}$/;

/** Body of `POST …/regrade`. */
export const regradeRequestSchema = z
  .object({
    fresh: z
      .boolean()
      .default(false)
      .meta({ description: 'Ask judges again, where votes on the same rubric and material are recorded' }),
  })
  .prefault({});
export type RegradeRequest = z.input<typeof regradeRequestSchema>;

/** Answer of `POST …/regrade`. */
export const regradeAcceptedSchema = z.object({ job_id: z.string(), job_url: z.string() });
export type RegradeAccepted = z.infer<typeof regradeAcceptedSchema>;

/**
 * `same`: the reward did not change. `changed`: the reward is another one. `differs`: the replay differs before its
 * evaluation, so there is no grade. `failed`: the trace could not be replayed or evaluated.
 */
export const regradeOutcomeSchema = z.enum(['same', 'changed', 'differs', 'failed']);
export type RegradeOutcome = z.infer<typeof regradeOutcomeSchema>;

/** One trace of a job. */
export const regradeRowSchema = z.object({
  trace_id: z.string(),
  /** Null before the replay starts. */
  replay_trace_id: z.string().nullable(),
  task_id: z.string().nullable(),
  model: z.string(),
  attempt_index: z.int().nullable(),
  /** Null until the replay is done. */
  outcome: regradeOutcomeSchema.nullable(),
  /** The reward of the run. */
  before: z.number().nullable(),
  /** The reward of the new grade. */
  after: z.number().nullable(),
  /** Null unless the outcome is `differs`. */
  difference: differenceSchema.nullable(),
  /** Null unless the outcome is `failed`. */
  error: runErrorSchema.nullable(),
});
export type RegradeRow = z.infer<typeof regradeRowSchema>;

/** Mean rewards of one model over its task means, as in a report. Only rows with a grade count. */
const regradeModelSchema = z.object({
  model: z.string(),
  graded: z.int(),
  changed: z.int(),
  mean_before: z.number().nullable(),
  mean_after: z.number().nullable(),
});

/** Answer of `GET /v1/regrades/{job_id}`. */
export const regradeSchema = z.object({
  object: z.literal('regrade'),
  job_id: z.string(),
  job_url: z.string(),
  status: z.enum(['running', 'completed', 'cancelled']),
  /** True when judges are asked again, even if they have judged the same material before. */
  fresh: z.boolean(),
  /** Either `trace_id` or `evaluation_id` is null. */
  trace_id: z.string().nullable(),
  evaluation_id: z.string().nullable(),
  created_at: timeSchema,
  finished_at: timeSchema.nullable(),
  progress: z.object({
    total: z.int(),
    done: z.int(),
    same: z.int(),
    changed: z.int(),
    differs: z.int(),
    failed: z.int(),
  }),
  models: z.array(regradeModelSchema),
  rows: z.array(regradeRowSchema),
  /** Cursor of the next page of rows. */
  next_cursor: z.string().nullable(),
});
export type Regrade = z.infer<typeof regradeSchema>;

/** Jobs of an evaluation or a trace, newest first, without their rows. */
export const regradeListSchema = z.object({
  object: z.literal('list'),
  data: z.array(regradeSchema.omit({ rows: true, next_cursor: true, models: true })),
});
export type RegradeList = z.infer<typeof regradeListSchema>;
