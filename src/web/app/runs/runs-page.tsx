import { useCallback } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { service } from '../api.ts';
import { OlderLink } from '../components/older-link.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { isRunService } from '../page-settings.ts';
import { usePageTitle } from '../use-page-title.ts';
import { useInterval, useResource } from '../use-resource.ts';
import { FilterBar } from './filter-bar.tsx';
import { columnsFor } from './run-columns.tsx';
import { isFiltered, toFilters, toListQuery } from './run-filters.ts';
import { toSelection, withoutFilters, withSelection } from './selection.ts';
import { SelectionBar } from './selection-bar.tsx';
import { TotalsPanel } from './totals-panel.tsx';

const REFRESH_MS = 3_000;

const WORDS = isRunService
  ? { title: 'Runs', older: 'Older runs', none: 'No runs yet' }
  : { title: 'Traces', older: 'Older traces', none: 'No traces yet' };

/** The runs of the account that the filters of the address let through, and what they come to. */
export function RunsPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle(WORDS.title);
  const selected = toSelection(query);
  const { resource, reload } = useResource(
    (signal) => service.traces.list(toListQuery(query), { signal }),
    [JSON.stringify(toListQuery(query))],
  );
  const totals = useResource(
    (signal) => service.traces.summary(toFilters(query), { signal }),
    [JSON.stringify(toFilters(query))],
  );
  // New ones come at the top of the first page; on another only those that still run change.
  const isLive = resource.state === 'ready' && resource.value.data.some(({ finished_at }) => finished_at === null);
  const refresh = useCallback(() => {
    reload();
    totals.reload();
  }, [reload, totals.reload]);
  useInterval(refresh, isLive || !query.has('cursor') ? REFRESH_MS : undefined);
  return (
    <div class="page">
      <h1>{WORDS.title}</h1>
      <FilterBar query={query} />
      {totals.resource.state === 'ready' ? (
        <TotalsPanel totals={totals.resource.value} listed={resource.state === 'ready' ? resource.value.data : []} />
      ) : null}
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Nothing query={query} />
            ) : (
              <Table label={WORDS.title} columns={columnsFor(query, data)} rows={data} keyOf={toKey} narrow="cards" />
            )}
            <OlderLink cursor={next_cursor} query={query}>
              {WORDS.older}
            </OlderLink>
            <SelectionBar
              selected={selected}
              shownCount={data.filter(({ trace_id }) => selected.includes(trace_id)).length}
              clearedPath={withSelection(query, [])}
            />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Nothing({ query }: { readonly query: URLSearchParams }) {
  if (!isFiltered(query)) return <NoRuns />;
  return (
    <Empty title="Nothing matches the filters">
      <p>
        <a href={withoutFilters(query)}>Clear all filters</a>
      </p>
    </Empty>
  );
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
