import type { TraceListQuery } from '../../../client/service-client.ts';

/** Options that choose traces, as commander reads them. */
export interface TraceFilterOptions extends Pick<TraceListQuery, 'model' | 'status' | 'origin'> {
  readonly env?: string;
  readonly scenario?: string;
  readonly minReward?: number;
  readonly maxReward?: number;
  /** Milliseconds since 1970. */
  readonly since?: number;
  readonly until?: number;
}

type QueryFields = { readonly [Name in keyof TraceListQuery]?: TraceListQuery[Name] | undefined };

/** Chosen traces in the words of the API; an option that was not given is no part of it. */
export function toTraceQuery(options: TraceFilterOptions, more: QueryFields = {}): TraceListQuery {
  const { env, scenario, model, status, origin, minReward, maxReward, since, until } = options;
  const query = {
    ...more,
    model,
    status,
    origin,
    env_name: env,
    scenario_name: scenario,
    min_reward: minReward,
    max_reward: maxReward,
    since: since && new Date(since).toISOString(),
    until: until && new Date(until).toISOString(),
  };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}
