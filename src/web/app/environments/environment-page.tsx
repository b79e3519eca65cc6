import { useState } from 'preact/hooks';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { TraceSummary } from '../../../contract/trace.ts';
import { formatDuration, formatTime, preview } from '../../format.ts';
import { service } from '../api.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { Reward, Status } from '../components/reward.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { RunForm } from './run-form.tsx';

const RECENT_RUNS = 10;

/** One environment: its scenarios, each with a form that starts a run, and what came of the last runs. */
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
      <Loaded resource={resource} retry={reload}>
        {({ scenarios }) =>
          scenarios.length === 0 ? (
            <Empty title="No scenarios" />
          ) : (
            scenarios.map((scenario) => <Scenario key={scenario.name} envName={name} scenario={scenario} />)
          )
        }
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

function Scenario({ envName, scenario }: { readonly envName: string; readonly scenario: ScenarioEntry }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <article class="card-block scenario" aria-label={scenario.short_name}>
      <header class="entry-head">
        <h2>{scenario.short_name}</h2>
        <span class="entry-facts" />
        <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Start a run'}
        </button>
      </header>
      {scenario.description === '' ? null : <p>{scenario.description}</p>}
      {isOpen ? <RunForm envName={envName} scenario={scenario} /> : <ArgumentList scenario={scenario} />}
    </article>
  );
}

function ArgumentList({ scenario }: { readonly scenario: ScenarioEntry }) {
  if (scenario.arguments.length === 0) return <p class="quiet">No arguments.</p>;
  return (
    <>
      <dl class="argument-list">
        {scenario.arguments.map(({ name, type, required, description, default: initial }) => (
          <div key={name}>
            <dt>
              <code>{name}</code> <span class="quiet">{`${type}${required ? '' : ', optional'}`}</span>
            </dt>
            <dd>
              {description}
              {initial === null || initial === undefined ? null : (
                <span class="quiet">{` Default ${preview(initial, 60)}`}</span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <details class="more">
        <summary>Schema</summary>
        <JsonTree value={scenario.args_schema} />
      </details>
    </>
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
