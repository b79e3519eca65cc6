import { z } from 'zod';
import { MAX_STEPS, TRACE_ID_PATTERN } from './names.ts';
import { evaluationSchema } from './scenario.ts';

/** The trace that another one repeats: all of it, or its steps up to `after_step`. */
export const parentSchema = z.object({
  trace_id: z.string(),
  kind: z.enum(['replay', 'fork']),
  /** The last step that is repeated, from 0; a fork has it alone. */
  after_step: z.int().optional(),
  /** True: judges are asked again, whatever they have said of the same material. */
  fresh: z.boolean().optional(),
});
export type Parent = z.infer<typeof parentSchema>;

/**
 * The first place where a repetition differs from its trace. `before` is what the trace holds, `after` what the environment of
 * today gives; either is null where there is none.
 */
export const differenceSchema = z.object({
  at: z.enum(['prompt', 'tools', 'step', 'reward']),
  /** From 1; 0 for a call outside of steps; null elsewhere than in a step. */
  step: z.int().nullable(),
  /** The number of the call in its step, from 1; null elsewhere. */
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
  /** The code that evaluated. */
  environment_hash: z.string().nullable(),
  /** True for the newest grade of its trace. */
  current: z.boolean(),
});
export type Grade = z.infer<typeof gradeSchema>;

/** `fork` of a run request. */
export const forkSchema = z.object({
  trace_id: z.string().regex(TRACE_ID_PATTERN).meta({ description: 'A trace that has ended' }),
  after_step: z.int().min(0).max(MAX_STEPS.maximum),
});
export type Fork = z.infer<typeof forkSchema>;

/** Rewards that lists and reports are about: those of the runs, or the newest grades where there are some. */
export const gradesQuerySchema = z.enum(['recorded', 'current']);
export type GradesQuery = z.infer<typeof gradesQuerySchema>;
