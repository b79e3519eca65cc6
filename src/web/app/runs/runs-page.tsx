import { useCallback } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/trace.ts';
import { formatCount, formatDuration, formatTime, preview } from '../../format.ts';
import { service } from '../api.ts';
import { Reward, Status } from '../components/reward.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { isRunService } from '../page-settings.ts';
import { usePageTitle } from '../use-page-title.ts';
import { useInterval, useResource } from '../use-resource.ts';
import { FiguresPanel } from './figures-panel.tsx';
import { FilterBar } from './filter-bar.tsx';
import { isFiltered, type Sort, toFilters, toListQuery, withValue } from './run-filters.ts';

const REFRESH_MS = 3_000;

const WORDS = isRunService
  ? { title: 'Runs', older: 'Older runs', none: 'No runs yet' }
  : { title: 'Traces', older: 'Older traces', none: 'No traces yet' };

/** The runs of the account that the filters of the address let through, and what they come to. */
export function RunsPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle(WORDS.title);
  const asked = query.toString();
  const { resource, reload } = useResource((signal) => service.traces.list(toListQuery(query), { signal }), [asked]);
  const figures = useResource(
    (signal) => service.traces.summary(toFilters(query), { signal }),
    [JSON.stringify(toFilters(query))],
  );
  // New ones come at the top of the first page; on another only those that still run change.
  const isLive = resource.state === 'ready' && resource.value.data.some(({ finished_at }) => finished_at === null);
  const refresh = useCallback(() => {
    reload();
    figures.reload();
  }, [reload, figures.reload]);
  useInterval(refresh, isLive || !query.has('cursor') ? REFRESH_MS : undefined);
  return (
    <div class="page">
      <h1>{WORDS.title}</h1>
      <FilterBar query={query} />
      {figures.resource.state === 'ready' ? <FiguresPanel figures={figures.resource.value} /> : null}
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Nothing query={query} />
            ) : (
              <Table label={WORDS.title} columns={columnsFor(query)} rows={data} keyOf={toKey} />
            )}
            {next_cursor === null ? null : (
              <p>
                <a class="button" href={`?${nextPage(query, next_cursor)}`}>
                  {WORDS.older}
                </a>
              </p>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

function nextPage(query: URLSearchParams, cursor: string): URLSearchParams {
  const next = new URLSearchParams(query);
  next.set('cursor', cursor);
  return next;
}

function Nothing({ query }: { readonly query: URLSearchParams }) {
  if (!isFiltered(query)) return <NoRuns />;
  return (
    <Empty title="Nothing matches the filters">
      <p>
        <a href={location.pathname}>Clear all filters</a>
      </p>
    </Empty>
  );
}

/** Columns that the list can be sorted by, in the words of the API. */
const SORTED_COLUMNS: Readonly<Record<string, Sort>> = {
  created: 'created_at',
  reward: 'reward',
  tokens: 'tokens',
  duration: 'duration',
};

function columnsFor(query: URLSearchParams): readonly Column<TraceSummary>[] {
  const sorted = toListQuery(query).sort ?? 'created_at';
  return COLUMNS.map((column) => {
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
  });
}

function NoRuns() {
  return (
    <Empty title={WORDS.none}>
      <p class="quiet">{isRunService ? 'Start one:' : 'The playground makes some, and so does:'}</p>
      <pre class="text mono">npx proctor run counter count_to --arg target=3 --model proctor/oracle</pre>
    </Empty>
  );
}

const toKey = (trace: TraceSummary) => trace.trace_id;

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
    name: 'duration',
    title: 'Duration',
    isNumber: true,
    isExtra: true,
    cell: (trace) => (trace.finished_at === null ? '–' : formatDuration(trace.timing.total_ms)),
  },
];
