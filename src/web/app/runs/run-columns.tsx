import type { ComponentChildren } from 'preact';
import { runningMs } from '../../../contract/running-time.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { countText, durationText, grouped, moneyText } from '../../../support/text/figures.ts';
import { formatTime, preview } from '../../format.ts';
import { MOST_COMPARED } from '../compare/compare-path.ts';
import { Reward, Status } from '../components/reward.tsx';
import { describeQueued, RunningTime } from '../components/running-time.tsx';
import { type Column, figureColumn } from '../components/table.tsx';
import { navigate } from '../navigate.ts';
import { pageSettings } from '../page-settings.ts';
import { type Sort, toListQuery, withValue, withValues } from './run-filters.ts';
import { toSelection, withSelection } from './selection.ts';

/** The columns of these runs. That of costs is there where one of them has some. */
export function columnsFor(query: URLSearchParams, rows: readonly TraceSummary[]): readonly Column<TraceSummary>[] {
  const sorted = toListQuery(query).sort ?? 'created_at';
  const hasCost = rows.some(({ usage }) => usage.cost_usd !== null);
  const columns = toColumns(query).filter(({ name }) => name !== 'cost' || hasCost);
  return [selectColumn(query), ...columns.map((column) => withSort(column, query, sorted))];
}

/** Columns of a short list without sorting and selection. Its cells lead to the list of runs. */
export function recentColumns(query: URLSearchParams): readonly Column<TraceSummary>[] {
  return toColumns(query).filter(({ name }) => !['steps', 'tokens', 'cost'].includes(name));
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

function toColumns(query: URLSearchParams): readonly Column<TraceSummary>[] {
  return [
    {
      name: 'created',
      title: 'Created (UTC)',
      cell: (trace) => <a href={`/traces/${trace.trace_id}`}>{formatTime(trace.created_at)}</a>,
    },
    {
      name: 'reward',
      title: 'Reward',
      cell: ({ reward }) => (
        <CellFilter query={query} values={reward === null ? {} : { min_reward: `${reward}`, max_reward: `${reward}` }}>
          <Reward reward={reward} />
        </CellFilter>
      ),
    },
    {
      name: 'status',
      title: 'Status',
      cell: ({ status, stop_reason }) => (
        <CellFilter query={query} values={{ status }}>
          <Status status={status} stopReason={stop_reason} />
        </CellFilter>
      ),
    },
    {
      name: 'scenario',
      title: 'Scenario',
      cell: ({ env_name, scenario_name, scenario_args, error, ...trace }) => (
        <>
          <CellFilter query={query} values={{ env_name }}>
            {env_name}
          </CellFilter>
          {' · '}
          <CellFilter query={query} values={{ env_name, scenario_name }}>
            {scenario_name}
          </CellFilter>{' '}
          <span class="quiet">{preview(scenario_args, 80)}</span>
          <AttemptOf {...trace} />
          {error === null ? null : <div class="bad-text">{`${error.boundary}: ${preview(error.message, 160)}`}</div>}
        </>
      ),
    },
    {
      name: 'model',
      title: 'Model',
      cell: ({ model, agent }) => (
        <CellFilter query={query} values={{ model }}>
          {agent === undefined ? model : `${agent} with ${model}`}
        </CellFilter>
      ),
    },
    figureColumn('Steps', ({ usage }) => grouped(usage.model_calls)),
    figureColumn('Tokens', ({ usage }) => grouped(usage.total_tokens)),
    figureColumn('Cost', ({ usage }) => (usage.cost_usd === null ? '–' : moneyText(usage.cost_usd))),
    figureColumn('Duration', (trace) => <RunningTime trace={trace} />),
    { name: 'took', title: 'Took', isNarrow: true, cell: (trace) => describeCosts(trace) },
  ];
}

/** The attempt of an evaluation that a run is. */
function AttemptOf(trace: Pick<TraceSummary, 'evaluation_id' | 'task_id' | 'attempt_index' | 'superseded'>) {
  if (trace.evaluation_id === null) return null;
  return (
    <div class="small">
      <a href={`/evaluations/${trace.evaluation_id}`}>
        {`attempt ${trace.attempt_index} of ${preview(trace.task_id ?? '', 60)}`}
      </a>
      {trace.superseded ? <span class="quiet">, run again since</span> : null}
    </div>
  );
}

/** A cell as a link to the runs with the same value. */
function CellFilter({
  query,
  values,
  children,
}: {
  readonly query: URLSearchParams;
  readonly values: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}) {
  const isNew = Object.entries(values).some(([name, value]) => query.get(name) !== value);
  if (!isNew) return <>{children}</>;
  const said = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return (
    <a
      class="cell-filter"
      href={`${pageSettings.runsPath}${withValues(query, values)}`}
      title={`Only ${said.join(', ')}`}
    >
      {children}
    </a>
  );
}

/** Duration and queue time of a run, on one line. */
function describeCosts(trace: TraceSummary): string {
  const { usage } = trace;
  const took = runningMs(trace);
  return [
    countText(usage.model_calls, 'step'),
    `${grouped(usage.total_tokens)} tokens`,
    usage.cost_usd === null ? '' : moneyText(usage.cost_usd),
    took === null ? '' : durationText(took),
    describeQueued(trace),
  ]
    .filter((fact) => fact !== '')
    .join(' · ');
}
