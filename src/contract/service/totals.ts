import { z } from 'zod';
import { runStatusSchema } from './run.ts';

export const totalsGroupBySchema = z.enum(['env', 'scenario', 'model', 'origin']);
export type TotalsGroupBy = z.infer<typeof totalsGroupBySchema>;

const rewardTotalsSchema = z.object({
  count: z.int(),
  /** Number of traces with a reward. Failed, cancelled and unfinished runs have none. */
  with_reward: z.int(),
  /** Mean over the traces with a reward; null if no trace has one. */
  mean_reward: z.number().nullable(),
  /** Share of traces with a reward of 1 or more, among those with a reward. */
  pass_rate: z.number().nullable(),
});

/** Answer of `GET /v1/traces/summary`, over all traces that match the filters. Deleted traces do not count. */
export const traceTotalsSchema = z.object({
  object: z.literal('summary'),
  ...rewardTotalsSchema.shape,
  by_status: z.record(runStatusSchema, z.int()),
  /**
   * Number of traces by tenth of the reward. Rewards below 0 count in the first tenth, rewards of 1 or more in the
   * last.
   */
  histogram: z.array(z.int()).length(10),
  tokens: z.object({ prompt: z.int(), completion: z.int(), total: z.int() }),
  /** Only with `group_by`: the same totals by group, largest first, at most 500. */
  groups: z.array(rewardTotalsSchema.extend({ group: z.string() })).optional(),
});
export type TraceTotals = z.infer<typeof traceTotalsSchema>;

export const usageGroupBySchema = z.enum(['day', 'model', 'env', 'key']);
export type UsageGroupBy = z.infer<typeof usageGroupBySchema>;

const usageGroupSchema = z.object({
  /** A day as `YYYY-MM-DD`, or the id of a key. Null without `group_by`, and for runs without a key. */
  group: z.string().nullable(),
  /** Only with `group_by=key`. */
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
