import type { StoredCheck } from '../../../contract/service/check.ts';
import { FINDING_HELP } from '../../../contract/service/check-help.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { CheckedEnvironmentView, describeAdvice } from './checked-environment.tsx';
import { toTitle } from './checks-page.tsx';
import { Counts } from './finding-counts.tsx';

/** Findings of the first request, the worst of all environments. More are loaded on demand. */
const FIRST_FINDINGS = 200;

/** The report of a check: its environments with their findings. */
export function CheckPage({ checkId }: { readonly checkId: string }) {
  usePageTitle('Check');
  const { resource, reload } = useResource(
    (signal) => service.checks.get(checkId, { limit: FIRST_FINDINGS }, { signal }),
    [checkId],
  );
  return (
    <div class="page check">
      <p class="quiet">
        <a href="/checks">Checks</a>
      </p>
      <Loaded resource={resource} retry={reload}>
        {(check) => <Report check={check} />}
      </Loaded>
    </div>
  );
}

type Row = StoredCheck['environments'][number] & { readonly index: number };

const COLUMNS: readonly Column<Row>[] = [
  { name: 'name', title: 'Environment', cell: ({ name, index }) => <a href={`#environment-${index}`}>{name}</a> },
  { name: 'findings', title: 'Findings', cell: ({ counts }) => <Counts counts={counts} /> },
  { name: 'advice', title: 'Processes', cell: (row) => describeAdvice(row.may_share_process) },
];

function Report({ check }: { readonly check: StoredCheck }) {
  const { environments, counts, created_at } = check;
  return (
    <>
      <h1>{`Check of ${toTitle(environments)}`}</h1>
      <p class="check-about">
        <Counts counts={counts} /> <span class="quiet">{`${formatTime(created_at)} UTC`}</span>
      </p>
      {environments.length < 2 ? null : (
        <Table
          label="Environments"
          columns={COLUMNS}
          rows={environments.map((environment, index) => ({ ...environment, index }))}
          keyOf={({ index }) => String(index)}
          narrow="cards"
        />
      )}
      {environments.map((_, index) => (
        // Two environments of a report may have the same name.
        <CheckedEnvironmentView key={index} check={check} index={index} />
      ))}
      {counts.error + counts.warning === 0 ? null : (
        <section class="card-block" aria-label="Findings">
          <h2>What each finding tries</h2>
          <dl class="finding-states">
            {Object.entries(FINDING_HELP).map(([finding, { asks }]) => (
              <div key={finding} id={`help-${finding}`}>
                <dt>{finding}</dt>
                <dd>{asks}</dd>
              </div>
            ))}
          </dl>
          <p class="quiet">docs/trust.md of the package says more.</p>
        </section>
      )}
    </>
  );
}
