import { z } from 'zod';
import { runStatusSchema } from './run.ts';

export const totalsGroupBySchema = z.enum(['env', 'scenario', 'model', 'origin']);
export type TotalsGroupBy = z.infer<typeof totalsGroupBySchema>;

const rewardTotalsSchema = z.object({
  count: z.int(),
  /** Those that have a reward: runs that failed, were cancelled, or have not ended have none. */
  with_reward: z.int(),
  /** Over the traces that have a reward; null where there is none. */
  mean_reward: z.number().nullable(),
  /** The share of those whose reward is 1 or more. */
  pass_rate: z.number().nullable(),
});

/** Answer of `GET /v1/traces/summary`: of all traces that the filters let through, deleted ones left out. */
export const traceTotalsSchema = z.object({
  object: z.literal('summary'),
  ...rewardTotalsSchema.shape,
  by_status: z.record(runStatusSchema, z.int()),
  /** Traces by tenth of the reward. What is below 0 counts to the first, what is 1 or more to the last. */
  histogram: z.array(z.int()).length(10),
  tokens: z.object({ prompt: z.int(), completion: z.int(), total: z.int() }),
  /** With `group_by` alone: the same traces by what it names, the most first; at most 500. */
  groups: z.array(rewardTotalsSchema.extend({ group: z.string() })).optional(),
});
export type TraceTotals = z.infer<typeof traceTotalsSchema>;

export const usageGroupBySchema = z.enum(['day', 'model', 'env', 'key']);
export type UsageGroupBy = z.infer<typeof usageGroupBySchema>;

const usageGroupSchema = z.object({
  /** A day is `YYYY-MM-DD`, a key its id; null without `group_by`, and for what was run without a key. */
  group: z.string().nullable(),
  /** With `group_by=key` alone. */
  key_name: z.string().nullable().optional(),
  runs: z.int(),
  model_calls: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  compute_seconds: z.number(),
});
export type UsageGroup = z.infer<typeof usageGroupSchema>;

/** Answer of `GET /v1/usage`. */
export const usageListSchema = z.object({ object: z.literal('list'), data: z.array(usageGroupSchema) });
export type UsageList = z.infer<typeof usageListSchema>;
