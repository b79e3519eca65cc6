import type { TraceFilters } from '../../src/store/traces/rows/trace-filters.ts';
import type { TraceQuery } from '../../src/store/traces/trace-store.ts';
import type { UsageQuery } from '../../src/store/traces/usage.ts';

type Case<Query> = readonly [label: string, query: Query];

const DAY_MS = 86_400_000;
const NEWEST_AT = Date.parse('2026-06-30T12:00:00Z');
const NOT_MIDNIGHT = NEWEST_AT - 30 * DAY_MS + 12_345_678;

/** Each single filter with a value that many have, one that few have, and one that none has; then each sort. */
export function listCases(rareCommit: string): readonly Case<TraceQuery>[] {
  const filters = filterCases(rareCommit);
  const sorts = (['created_at', 'reward', 'duration', 'tokens'] as const).map(
    (sort): Case<TraceQuery> => [`sort=${sort}`, { sort }],
  );
  return [...sorts, ...filters];
}

export function summaryCases(rareCommit: string): readonly Case<TraceFilters>[] {
  return [
    ['all', {}],
    ...filterCases(rareCommit),
    ['env_name and model', { envName: 'retail', model: 'openai/gpt-5-mini' }],
    ['scenario, model and 30 days', { scenarioName: 'return_order', model: 'openai/gpt-5-mini', since: NOT_MIDNIGHT }],
  ];
}

export function usageCases(): readonly Case<Omit<UsageQuery, 'account'>>[] {
  return [
    ['all', {}],
    ['by day', { groupBy: 'day' }],
    ['by model', { groupBy: 'model' }],
    ['by env', { groupBy: 'env' }],
    ['by key', { groupBy: 'key' }],
    ['by model, 30 days', { groupBy: 'model', since: NOT_MIDNIGHT }],
  ];
}

function filterCases(rareCommit: string): readonly Case<TraceFilters>[] {
  return [
    ['env_name, 47 %', { envName: 'retail' }],
    ['env_name, few', { envName: 'archive' }],
    ['env_name, none', { envName: 'nowhere' }],
    ['scenario_name, 16 %', { scenarioName: 'return_order' }],
    ['scenario_name, few', { scenarioName: 'restore_snapshot' }],
    ['scenario_name, none', { scenarioName: 'nothing' }],
    ['model, 34 %', { model: 'openai/gpt-5-mini' }],
    ['model, few', { model: 'proctor/noop' }],
    ['model, none', { model: 'nobody' }],
    ['status, 94 %', { status: 'completed' }],
    ['status, 1 %', { status: 'cancelled' }],
    ['status, unfinished', { status: 'queued' }],
    ['origin, 90 %', { origin: 'run' }],
    ['origin, 2 %', { origin: 'chat' }],
    ['min_reward, 41 %', { minReward: 1 }],
    ['min_reward, few', { minReward: 1.2 }],
    ['min_reward, none', { minReward: 5 }],
    ['max_reward, 33 %', { maxReward: 0 }],
    ['max_reward, none', { maxReward: -1 }],
    ['min_reward and max_reward, 0.1 %', { minReward: 0.333, maxReward: 0.344 }],
    ['since, 55 %', { since: NOT_MIDNIGHT }],
    ['since, none', { since: NEWEST_AT + DAY_MS }],
    ['until, 45 %', { until: NOT_MIDNIGHT }],
    ['until, none', { until: NEWEST_AT - 100 * DAY_MS }],
    ['metadata, all', { metadata: { suite: 'regression' } }],
    ['metadata, 50 %', { metadata: { team: 'research' } }],
    ['metadata, few', { metadata: { team: 'interns' } }],
    ['metadata, 0.05 %', { metadata: { commit: rareCommit } }],
    ['metadata, none', { metadata: { team: 'nobody' } }],
  ];
}
