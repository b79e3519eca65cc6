import { z } from 'zod';
import { MAX_STEPS, TRACE_ID_PATTERN } from '../names.ts';
import { evaluationSchema } from '../scenario.ts';

/** The trace that this one repeats: all of it, or its steps up to `after_step`. */
export const parentSchema = z.object({
  trace_id: z.string(),
  kind: z.enum(['replay', 'fork']),
  /** The last step that is repeated, from 0. Only a fork has it. */
  after_step: z.int().optional(),
  /** True when judges are asked again, even if they have judged the same material before. */
  fresh: z.boolean().optional(),
});
export type Parent = z.infer<typeof parentSchema>;

/**
 * The first place where a replay differs from its trace. `before` is the value in the trace, `after` the value from the
 * environment now. Either is null when that side has no value.
 */
export const differenceSchema = z.object({
  at: z.enum(['prompt', 'tools', 'step', 'reward']),
  /** Counted from 1. 0 means a call outside of steps; null when `at` is not `step`. */
  step: z.int().nullable(),
  /** Number of the call in its step, from 1. Null when `at` is not `step`. */
  call: z.int().nullable(),
  before: z.json(),
  after: z.json(),
});
export type Difference = z.infer<typeof differenceSchema>;

/** How a replay compares to its trace. */
export const replayResultSchema = z.object({ identical: z.boolean(), difference: differenceSchema.nullable() });
export type ReplayResult = z.infer<typeof replayResultSchema>;

/** An evaluation of a finished trace by a later evaluator. */
export const gradeSchema = z.object({
  /** ISO 8601, UTC, milliseconds. */
  at: z.string(),
  evaluation: evaluationSchema,
  /** Hash of the code that evaluated. */
  environment_hash: z.string().nullable(),
  /** True for the newest grade of its trace. */
  current: z.boolean(),
});
export type Grade = z.infer<typeof gradeSchema>;

/** The body of a replay, which may be left out. */
export const replayRequestSchema = z.object({
  env_name: z.string().min(1).optional().meta({ description: 'Another environment than that of the trace' }),
});

/** `fork` of a run request. */
export const forkSchema = z.object({
  trace_id: z.string().regex(TRACE_ID_PATTERN).meta({ description: 'A trace that has ended' }),
  after_step: z.int().min(0).max(MAX_STEPS.maximum),
});
export type Fork = z.infer<typeof forkSchema>;

/**
 * Rewards in lists and reports: `recorded` are those of the runs; `current` are the newest grades where a trace has
 * one.
 */
export const gradesQuerySchema = z.enum(['recorded', 'current']);
export type GradesQuery = z.infer<typeof gradesQuerySchema>;
