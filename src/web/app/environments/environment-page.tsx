import { useState } from 'preact/hooks';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { TraceSummary } from '../../../contract/trace.ts';
import { formatDuration, formatTime, preview } from '../../format.ts';
import { service } from '../api.ts';
import { LongText } from '../components/long-text.tsx';
import { Reward, Status } from '../components/reward.tsx';
import { Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { RecentRewards } from './recent-rewards.tsx';
import { RunForm } from './run-form.tsx';
import { SchemaTable } from './schema-table.tsx';
import { ToolList } from './tool-list.tsx';

const RECENT_RUNS = 10;

/** One environment: its scenarios, each with a form that starts a run, its tools, and what came of the last runs. */
export function EnvironmentPage({ name }: { readonly name: string }) {
  usePageTitle(name);
  const { resource, reload } = useResource((signal) => service.environments.scenarios(name, { signal }), [name]);
  const recent = useResource(
    (signal) => service.traces.list({ env_name: name, limit: RECENT_RUNS }, { signal }),
    [name],
  );
  return (
    <div class="page environment">
      <p class="quiet">
        <a href="/environments">Environments</a>
      </p>
      <h1>{name}</h1>
      <About name={name} />
      <Loaded resource={resource} retry={reload}>
        {({ scenarios }) => (
          <>
            <section aria-labelledby="scenarios">
              <h2 id="scenarios" class="section-title">
                Scenarios <span class="quiet section-count">{scenarios.length}</span>
              </h2>
              {scenarios.length === 0 ? (
                <p class="quiet">None: it has nothing that could be run.</p>
              ) : (
                scenarios.map((scenario) => <Scenario key={scenario.name} envName={name} scenario={scenario} />)
              )}
            </section>
            <ToolList envName={name} />
          </>
        )}
      </Loaded>
      <h2 class="section-title">Recent runs</h2>
      <Loaded resource={recent.resource} retry={recent.reload}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="quiet">None yet.</p>
          ) : (
            <Table label="Recent runs" columns={COLUMNS} rows={data} keyOf={({ trace_id }) => trace_id} />
          )
        }
      </Loaded>
    </div>
  );
}

/** What the list of environments says of it. The page is complete without. */
function About({ name }: { readonly name: string }) {
  const { resource } = useResource((signal) => service.environments.list({ signal }), []);
  const entry = resource.state === 'ready' ? resource.value.data.find((each) => each.name === name) : undefined;
  // Without a version the description is the reason why it cannot be started, which the page tells anyway.
  const isKnown = entry !== undefined && entry.version !== '';
  return (
    <p class="quiet environment-about">
      {isKnown ? (
        <>
          {entry.description === '' ? '' : `${entry.description} `}
          <span class="version">{`Version ${entry.version}`}</span>
        </>
      ) : null}
    </p>
  );
}

function Scenario({ envName, scenario }: { readonly envName: string; readonly scenario: ScenarioEntry }) {
  const [isOpen, setOpen] = useState(false);
  const { short_name, description, args_schema } = scenario;
  return (
    <article class="card-block scenario" aria-label={short_name}>
      <header class="entry-head">
        <h3>{short_name}</h3>
        <span class="entry-facts" />
        <RecentRewards envName={envName} scenarioName={short_name} />
        <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Start a run'}
        </button>
      </header>
      {description === '' ? null : <LongText text={description} />}
      {isOpen ? (
        <RunForm envName={envName} scenario={scenario} />
      ) : (
        <SchemaTable label={`Arguments of ${short_name}`} schema={args_schema} none="It takes no arguments." />
      )}
    </article>
  );
}

const COLUMNS: readonly Column<TraceSummary>[] = [
  {
    name: 'created',
    title: 'Created (UTC)',
    cell: (trace) => <a href={`/traces/${trace.trace_id}`}>{formatTime(trace.created_at)}</a>,
  },
  { name: 'reward', title: 'Reward', cell: ({ reward }) => <Reward reward={reward} /> },
  { name: 'status', title: 'Status', cell: (trace) => <Status status={trace.status} stopReason={trace.stop_reason} /> },
  {
    name: 'scenario',
    title: 'Scenario',
    cell: (trace) => (
      <>
        {`${trace.scenario_name} `}
        <span class="quiet">{preview(trace.scenario_args, 80)}</span>
      </>
    ),
  },
  { name: 'model', title: 'Model', cell: ({ model }) => model },
  {
    name: 'duration',
    title: 'Duration',
    isNumber: true,
    isExtra: true,
    cell: (trace) => (trace.finished_at === null ? '–' : formatDuration(trace.timing.total_ms)),
  },
];
