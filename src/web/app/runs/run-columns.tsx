import type { TraceSummary } from '../../../contract/trace.ts';
import { formatCost, formatCount, formatCountOf, formatDuration, formatTime, preview } from '../../format.ts';
import { MOST_COMPARED } from '../compare/compare-path.ts';
import { Reward, Status } from '../components/reward.tsx';
import type { Column } from '../components/table.tsx';
import { navigate } from '../router.ts';
import { type Sort, toListQuery, withValue } from './run-filters.ts';
import { toSelection, withSelection } from './selection.ts';

/** The columns of these runs. That of costs is there where one of them has some. */
export function columnsFor(query: URLSearchParams, rows: readonly TraceSummary[]): readonly Column<TraceSummary>[] {
  const sorted = toListQuery(query).sort ?? 'created_at';
  const hasCost = rows.some(({ usage }) => usage.cost_usd !== null);
  const columns = COLUMNS.filter(({ name }) => name !== 'cost' || hasCost);
  return [selectColumn(query), ...columns.map((column) => withSort(column, query, sorted))];
}

function selectColumn(query: URLSearchParams): Column<TraceSummary> {
  const selected = toSelection(query);
  const isFull = selected.length >= MOST_COMPARED;
  return {
    name: 'select',
    title: <span class="visually-hidden">Select</span>,
    cell: ({ trace_id, created_at, scenario_name }) => {
      const isSelected = selected.includes(trace_id);
      return (
        <label class="select-run">
          <input
            type="checkbox"
            checked={isSelected}
            disabled={isFull && !isSelected}
            aria-label={`Select ${scenario_name} of ${formatTime(created_at)} to be compared`}
            onChange={() => {
              const others = selected.filter((id) => id !== trace_id);
              navigate(withSelection(query, isSelected ? others : [...others, trace_id]), { replace: true });
            }}
          />
        </label>
      );
    },
  };
}

/** Columns that the list can be sorted by, in the words of the API. */
const SORTED_COLUMNS: Readonly<Record<string, Sort>> = {
  created: 'created_at',
  reward: 'reward',
  tokens: 'tokens',
  duration: 'duration',
};

function withSort(column: Column<TraceSummary>, query: URLSearchParams, sorted: Sort): Column<TraceSummary> {
  const sort = SORTED_COLUMNS[column.name];
  if (sort === undefined) return column;
  const isSorted = sort === sorted;
  return {
    ...column,
    title: (
      <a
        class="sort"
        href={withValue(query, 'sort', sort === 'created_at' ? '' : sort)}
        aria-current={isSorted ? 'true' : undefined}
      >
        {column.title}
        {isSorted ? ' ↓' : ''}
      </a>
    ),
  };
}

const COLUMNS: readonly Column<TraceSummary>[] = [
  {
    name: 'created',
    title: 'Created (UTC)',
    cell: (trace) => <a href={`/traces/${trace.trace_id}`}>{formatTime(trace.created_at)}</a>,
  },
  { name: 'reward', title: 'Reward', cell: ({ reward }) => <Reward reward={reward} /> },
  {
    name: 'status',
    title: 'Status',
    cell: (trace) => <Status status={trace.status} stopReason={trace.stop_reason} />,
  },
  {
    name: 'scenario',
    title: 'Scenario',
    cell: (trace) => (
      <>
        {`${trace.env_name} · ${trace.scenario_name} `}
        <span class="quiet">{preview(trace.scenario_args, 80)}</span>
        {trace.error === null ? null : (
          <div class="bad-text">{`${trace.error.boundary}: ${preview(trace.error.message, 160)}`}</div>
        )}
      </>
    ),
  },
  { name: 'model', title: 'Model', cell: ({ model }) => model },
  { name: 'steps', title: 'Steps', isNumber: true, isExtra: true, cell: ({ usage }) => formatCount(usage.model_calls) },
  {
    name: 'tokens',
    title: 'Tokens',
    isNumber: true,
    isExtra: true,
    cell: ({ usage }) => formatCount(usage.total_tokens),
  },
  {
    name: 'cost',
    title: 'Cost',
    isNumber: true,
    isExtra: true,
    cell: ({ usage }) => (usage.cost_usd === null ? '–' : formatCost(usage.cost_usd)),
  },
  {
    name: 'duration',
    title: 'Duration',
    isNumber: true,
    isExtra: true,
    cell: (trace) => (trace.finished_at === null ? '–' : formatDuration(trace.timing.total_ms)),
  },
  { name: 'took', title: 'Took', isNarrow: true, cell: (trace) => describeCosts(trace) },
];

/** What a run took, on one line. */
function describeCosts({ usage, timing, finished_at }: TraceSummary): string {
  return [
    formatCountOf(usage.model_calls, 'step'),
    `${formatCount(usage.total_tokens)} tokens`,
    ...(usage.cost_usd === null ? [] : [formatCost(usage.cost_usd)]),
    ...(finished_at === null ? [] : [formatDuration(timing.total_ms)]),
  ].join(' · ');
}
