import type { TraceSummary } from '../../../contract/trace.ts';
import { formatCount, formatDuration, formatTime, preview } from '../../format.ts';
import { service } from '../api.ts';
import { Reward, Status } from '../components/reward.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { isRunService } from '../page-settings.ts';
import { usePageTitle } from '../use-page-title.ts';
import { useInterval, useResource } from '../use-resource.ts';

const REFRESH_MS = 3_000;

const WORDS = isRunService
  ? { title: 'Runs', older: 'Older runs', none: 'No runs yet' }
  : { title: 'Traces', older: 'Older traces', none: 'No traces yet' };

/** The runs of the account, newest first. */
export function RunsPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle(WORDS.title);
  const cursor = query.get('cursor');
  const { resource, reload } = useResource(
    (signal) => service.traces.list(cursor === null ? {} : { cursor }, { signal }),
    [cursor],
  );
  const isLive = resource.state === 'ready' && resource.value.data.some(({ finished_at }) => finished_at === null);
  useInterval(reload, isLive ? REFRESH_MS : undefined);
  return (
    <div class="page">
      <h1>{WORDS.title}</h1>
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? <NoRuns /> : <Table label={WORDS.title} columns={COLUMNS} rows={data} keyOf={toKey} />}
            {next_cursor === null ? null : (
              <p>
                <a class="button" href={`?${new URLSearchParams({ cursor: next_cursor })}`}>
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
