import { z } from 'zod';

/** Largest number of votes of a judge on one question. */
const MAX_JUDGE_VOTES = 25;
/** Largest number of characters of material that a judge reads. */
export const MAX_JUDGE_MATERIAL = 200_000;

/** `boolean`, or numbers from `min` to `max`. */
export const judgeScaleSchema = z.union([
  z.literal('boolean'),
  z.object({ min: z.number(), max: z.number() }).refine(({ min, max }) => min < max, 'min has to be below max'),
]);
export type JudgeScale = z.infer<typeof judgeScaleSchema>;

export const judgeVoteSchema = z.object({
  /** From 0 to 1. */
  score: z.number(),
  reason: z.string(),
});
export type JudgeVote = z.infer<typeof judgeVoteSchema>;

/** A question for a judge, as an evaluation sends it to its harness. */
export const judgeRequestSchema = z.object({
  rubric: z.string().min(1),
  /** A text, or any other value as JSON. */
  material: z.string(),
  scale: judgeScaleSchema.default('boolean'),
  model: z.string().nullable().default(null),
  votes: z.int().min(1).max(MAX_JUDGE_VOTES).default(1),
  context: z.string().nullable().default(null),
});
export type JudgeRequest = z.infer<typeof judgeRequestSchema>;

export const judgementSchema = z.object({
  /** Mean of the votes, from 0 to 1. */
  score: z.number(),
  reasons: z.array(z.string()),
  votes: z.array(judgeVoteSchema),
  /** Agreement of the votes, from 0 to 1. */
  agreement: z.number(),
});
export type Judgement = z.infer<typeof judgementSchema>;
