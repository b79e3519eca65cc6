import { useState } from 'preact/hooks';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import { service } from '../api.ts';
import { LongText } from '../components/long-text.tsx';
import { Loaded } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { talkAddress } from '../page-settings.ts';
import { recentColumns } from '../runs/run-columns.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { LatestCheck } from './latest-check.tsx';
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
      <About name={name} isRead={resource.state === 'ready'} />
      <LatestCheck name={name} />
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
            <Table
              label="Recent runs"
              columns={recentColumns(new URLSearchParams({ env_name: name }))}
              rows={data}
              keyOf={({ trace_id }) => trace_id}
              narrow="cards"
            />
          )
        }
      </Loaded>
    </div>
  );
}

/** Its entry in the list of environments. The page is complete without. */
function About({ name, isRead }: { readonly name: string; readonly isRead: boolean }) {
  const { resource } = useResource((signal) => service.environments.list({ signal }), []);
  const entry = resource.state === 'ready' ? resource.value.data.find((each) => each.name === name) : undefined;
  // Why it could not even be read, the rest of the page says.
  if (entry === undefined || !isRead) return <p class="quiet environment-about" />;
  return (
    <>
      <p class="quiet environment-about">
        {entry.description === '' ? '' : `${entry.description} `}
        {entry.version === '' ? null : <span class="version">{`Version ${entry.version}`}</span>}
      </p>
      {entry.state === 'failed' ? (
        <p class="bad-text" role="alert">
          Cannot be started. {entry.reason}
        </p>
      ) : (
        entry.warnings.map((warning) => (
          <p key={warning} class="bad-text" role="alert">
            {warning}
          </p>
        ))
      )}
    </>
  );
}

/** To the playground, where a person plays the scenario with a model. */
function TalkTo({ name }: { readonly name: string }) {
  const address = talkAddress(name);
  return address === undefined ? null : (
    <a class="button" href={address}>
      Talk to it
    </a>
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
        <TalkTo name={scenario.name} />
        <button type="button" class="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Close' : 'Start a run'}
        </button>
      </header>
      {description === '' ? null : <LongText text={description} />}
      <RecentRewards envName={envName} scenarioName={short_name} />
      {isOpen ? (
        <RunForm envName={envName} scenario={scenario} />
      ) : (
        <SchemaTable label={`Arguments of ${short_name}`} schema={args_schema} none="It takes no arguments." />
      )}
    </article>
  );
}
