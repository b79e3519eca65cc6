import type { TraceFilters, TraceListQuery } from '../../../client/service-client.ts';
import { SELECTION } from './selection.ts';

/** The texts of the filter form and of the address, by the names of the API. */
export const NAME_FILTERS = ['env_name', 'scenario_name', 'model'] as const;
export const CHOICES = {
  status: ['queued', 'running', 'completed', 'failed', 'cancelled'],
  origin: ['run', 'chat', 'eval', 'agent', 'replay', 'check', 'import', 'ors', 'openenv'],
} as const;
/** Those of evaluations: pages of theirs lead here. They are shown as something to drop. */
export const EVALUATION_FILTERS = ['evaluation_id', 'task_id'] as const;
export const REWARD_FILTERS = ['min_reward', 'max_reward'] as const;
export const TIME_FILTERS = ['since', 'until'] as const;
export const SORTS = ['created_at', 'reward', 'duration', 'tokens'] as const;
export type Sort = (typeof SORTS)[number];

export const METADATA_PREFIX = 'metadata.';

/** The filters of an address, without invalid ones. */
export function toListQuery(query: URLSearchParams): TraceListQuery {
  const sort = SORTS.find((each) => each === query.get('sort'));
  const cursor = query.get('cursor');
  return { ...toFilters(query), ...(sort === undefined ? {} : { sort }), ...(cursor === null ? {} : { cursor }) };
}

export function toFilters(query: URLSearchParams): TraceFilters {
  const status = CHOICES.status.find((each) => each === query.get('status'));
  const origin = CHOICES.origin.find((each) => each === query.get('origin'));
  const metadata = Object.fromEntries(
    [...query].flatMap(([name, value]) =>
      name.startsWith(METADATA_PREFIX) ? [[name.slice(METADATA_PREFIX.length), value]] : [],
    ),
  );
  return {
    ...pickText(query, NAME_FILTERS, (text) => text),
    ...pickText(query, EVALUATION_FILTERS, (text) => text),
    ...pickText(query, REWARD_FILTERS, toNumber),
    ...pickText(query, TIME_FILTERS, toTime),
    ...(status === undefined ? {} : { status }),
    ...(origin === undefined ? {} : { origin }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

/** The same address with one value changed, or without it, on the first page. */
export function withValue(query: URLSearchParams, name: string, value: string): string {
  return withValues(query, { [name]: value });
}

/** The same with several. */
export function withValues(query: URLSearchParams, values: Readonly<Record<string, string>>): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') changed.delete(name);
    else changed.set(name, value);
  }
  changed.delete('cursor');
  return `?${changed}`;
}

/** Whether the address says anything of which runs are shown. */
export function isFiltered(query: URLSearchParams): boolean {
  return [...query.keys()].some((name) => !['sort', 'cursor', SELECTION].includes(name));
}

function pickText<Name extends string, Value>(
  query: URLSearchParams,
  names: readonly Name[],
  parse: (text: string) => Value | undefined,
): { readonly [Each in Name]?: Value } {
  const picked: { [Each in Name]?: Value } = {};
  for (const name of names) {
    const text = query.get(name)?.trim() ?? '';
    const value = text === '' ? undefined : parse(text);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

function toNumber(text: string): number | undefined {
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** The value of a time field has no zone and means UTC, like all times of the pages. */
function toTime(text: string): string | undefined {
  const time = Date.parse(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
}
