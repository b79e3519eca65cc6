import type { CheckSummary } from '../../../contract/service/check.ts';
import { countText } from '../../../support/text/figures.ts';
import { formatTime, preview } from '../../format.ts';
import { service } from '../api.ts';
import { OlderLink } from '../components/older-link.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';
import { Counts } from './finding-counts.tsx';

/** Most environment names of one report in the list. */
const MOST_NAMES = 4;

const COLUMNS: readonly Column<CheckSummary>[] = [
  {
    name: 'environments',
    title: 'Environments',
    cell: ({ check_id, environments }) => <a href={`/checks/${check_id}`}>{toTitle(environments)}</a>,
  },
  { name: 'findings', title: 'Findings', cell: ({ counts }) => <Counts counts={counts} /> },
  { name: 'when', title: 'Checked', cell: ({ created_at }) => `${formatTime(created_at)} UTC` },
];

/** Reports of checks, newest first. The address may filter by environment. */
export function ChecksPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Checks');
  const [cursor, envName] = [query.get('cursor'), query.get('env_name')];
  const { resource, reload } = useResource(
    (signal) =>
      service.checks.list(
        { ...(cursor === null ? {} : { cursor }), ...(envName === null ? {} : { env_name: envName }) },
        { signal },
      ),
    [cursor, envName],
  );
  return (
    <div class="page checks">
      <h1>Checks</h1>
      {envName === null ? null : (
        <p class="quiet">
          {`Those of ${preview(envName)}. `}
          <a href="/checks">All checks</a>
        </p>
      )}
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <Empty title="No checks yet">
                <p class="quiet">A check tries to be paid by an environment without solving anything. Start one:</p>
                <pre class="text mono">npx proctor check counter</pre>
              </Empty>
            ) : (
              <Table label="Checks" columns={COLUMNS} rows={data} keyOf={({ check_id }) => check_id} narrow="cards" />
            )}
            <OlderLink cursor={next_cursor} query={query}>
              Older checks
            </OlderLink>
          </>
        )}
      </Loaded>
    </div>
  );
}

/** The first names of the environments of a report. */
export function toTitle(environments: readonly { readonly name: string }[]): string {
  if (environments.length === 0) return 'no environment';
  const names = environments.slice(0, MOST_NAMES).map(({ name }) => preview(name, 40));
  const more = environments.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${countText(more, 'other')}` : ''}`;
}
