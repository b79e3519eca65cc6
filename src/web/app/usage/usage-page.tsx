import type { UsageGroup, UsageGroupBy } from '../../../contract/figures.ts';
import { formatCount } from '../../format.ts';
import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';

const TITLES: Readonly<Record<UsageGroupBy, string>> = {
  day: 'Day (UTC)',
  model: 'Model',
  env: 'Environment',
  key: 'API key',
};
const GROUPS = ['day', 'model', 'env', 'key'] as const;

/** What the runs of the account have used, by what the address says. */
export function UsagePage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Usage');
  const groupBy = GROUPS.find((each) => each === query.get('by')) ?? 'day';
  const { resource, reload } = useResource((signal) => service.usage({ group_by: groupBy }, { signal }), [groupBy]);
  return (
    <div class="page">
      <h1>Usage</h1>
      <nav class="filter-chips usage-groups" aria-label="Group by">
        {GROUPS.map((each) => (
          <a key={each} class="button" href={`?by=${each}`} aria-current={each === groupBy ? 'true' : undefined}>
            {TITLES[each]}
          </a>
        ))}
      </nav>
      <Loaded resource={resource} retry={reload}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="Nothing was used yet" />
          ) : (
            <Table label="Usage" columns={columnsFor(groupBy)} rows={inOrder(data, groupBy)} keyOf={toKey} />
          )
        }
      </Loaded>
    </div>
  );
}

/** Days come oldest first: what one looks for is the end of it. */
function inOrder(groups: readonly UsageGroup[], groupBy: UsageGroupBy): readonly UsageGroup[] {
  return groupBy === 'day' ? groups.toReversed() : groups;
}

const toKey = ({ group }: UsageGroup) => group ?? '';

function columnsFor(groupBy: UsageGroupBy): readonly Column<UsageGroup>[] {
  return [
    {
      name: 'group',
      title: TITLES[groupBy],
      cell: ({ group, key_name }) => key_name ?? group ?? 'without a key',
    },
    { name: 'runs', title: 'Runs', isNumber: true, cell: ({ runs }) => formatCount(runs) },
    { name: 'calls', title: 'Model calls', isNumber: true, isExtra: true, cell: (row) => formatCount(row.model_calls) },
    {
      name: 'prompt',
      title: 'Tokens in',
      isNumber: true,
      isExtra: true,
      cell: (row) => formatCount(row.prompt_tokens),
    },
    {
      name: 'completion',
      title: 'Tokens out',
      isNumber: true,
      isExtra: true,
      cell: (row) => formatCount(row.completion_tokens),
    },
    { name: 'total', title: 'Tokens', isNumber: true, cell: (row) => formatCount(row.total_tokens) },
    {
      name: 'compute',
      title: 'Compute, hours',
      isNumber: true,
      cell: ({ compute_seconds }) => (compute_seconds / 3_600).toFixed(2),
    },
  ];
}
