import { z } from 'zod';
import { describeIssue } from '../describe-issue.ts';
import { FormatError } from '../imported-trace.ts';

const text = z.string().nullish();
const part = z.looseObject({
  type: z.string(),
  text,
  source: z.looseObject({ media_type: z.string(), path: z.string() }).nullish(),
});
const content = z.union([z.string(), z.array(part)]).nullish();
const count = z.number().nullish();
const extra = z.record(z.string(), z.unknown()).nullish();

const stepSchema = z.looseObject({
  timestamp: text,
  source: z.enum(['system', 'user', 'agent']),
  message: content,
  model_name: text,
  reasoning_content: text,
  tool_calls: z
    .array(
      z.looseObject({ tool_call_id: z.string(), function_name: z.string(), arguments: z.unknown().optional(), extra }),
    )
    .nullish(),
  observation: z
    .looseObject({ results: z.array(z.looseObject({ source_call_id: text, content, extra })).nullish() })
    .nullish(),
  metrics: z
    .looseObject({
      prompt_tokens: count,
      completion_tokens: count,
      cached_tokens: count,
      cost_usd: count,
      prompt_token_ids: z.json().optional(),
      completion_token_ids: z.json().optional(),
      logprobs: z.json().optional(),
      extra,
    })
    .nullish(),
  llm_call_count: count,
  extra,
});
export type AtifStep = z.infer<typeof stepSchema>;

const trajectorySchema = z.looseObject({
  schema_version: z.string(),
  session_id: text,
  trajectory_id: text,
  agent: z.looseObject({ name: z.string(), version: text, model_name: text, tool_definitions: z.unknown().optional() }),
  steps: z.array(stepSchema).min(1),
  final_metrics: z
    .looseObject({
      total_prompt_tokens: count,
      total_completion_tokens: count,
      total_cached_tokens: count,
      total_cost_usd: count,
    })
    .nullish(),
  subagent_trajectories: z.array(z.unknown()).nullish(),
  extra,
});
export type Trajectory = z.infer<typeof trajectorySchema>;

export type AtifContent = z.infer<typeof content>;

/** @throws FormatError that names the first fault. */
export function parseTrajectory(given: unknown): Trajectory {
  const parsed = trajectorySchema.safeParse(given);
  if (!parsed.success) throw new FormatError(describeIssue(parsed.error));
  return parsed.data;
}
