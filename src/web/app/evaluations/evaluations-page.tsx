import { useState } from 'preact/hooks';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationSummary } from '../../../contract/service/evaluation.ts';
import { coverageText, shortfallsOf } from '../../../support/text/evaluation-figures.ts';
import { countText, grouped, moneyText, withInterval } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { OlderLink } from '../components/older-link.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { toComparePath } from './evaluation-paths.ts';
import { type Domain, IntervalBar, toDomain } from './interval-bar.tsx';
import { ProgressBar, StatusBadge } from './status-badge.tsx';
import { usePacedReload } from './use-paced-reload.ts';

/** Models of one evaluation in the list. */
const MOST_MODELS = 4;

/** The evaluations of the account, newest first. */
export function EvaluationsPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Evaluations');
  const cursor = query.get('cursor');
  const [selected, setSelected] = useState<readonly string[]>([]);
  const { resource, reload } = usePacedReload(
    (signal) => service.evaluations.list(cursor === null ? {} : { cursor }, { signal }),
    [cursor],
    (list) => list.data.some(({ status }) => !isEnded(status)) || cursor === null,
  );
  return (
    <div class="page evaluations">
      <h1>Evaluations</h1>
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <NoEvaluations />
            ) : (
              <Table
                label="Evaluations"
                columns={columnsFor(data, selected, setSelected)}
                rows={data}
                keyOf={({ evaluation_id }) => evaluation_id}
                narrow="cards"
              />
            )}
            <OlderLink cursor={next_cursor}>Older evaluations</OlderLink>
            <CompareBar selected={selected} clear={() => setSelected([])} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function NoEvaluations() {
  return (
    <Empty title="No evaluations yet">
      <p class="quiet">An evaluation plays every task of a taskset with each model, several times. Start one:</p>
      <pre class="text mono">npx proctor eval counter --model proctor/oracle --model proctor/random -n 4</pre>
    </Empty>
  );
}

/** The one that was selected first is what the other is compared with. */
function CompareBar({ selected, clear }: { readonly selected: readonly string[]; clear(): void }) {
  const [a, b] = selected;
  return (
    <section class={`selection-bar ${a === undefined ? 'is-empty' : ''}`} aria-label="Selected evaluations">
      <p role="status">
        {a === undefined ? '' : `${countText(selected.length, 'evaluation')} selected`}
        {a !== undefined && b === undefined ? <span class="quiet">: select another to compare with it</span> : null}
      </p>
      {a === undefined ? null : (
        <button type="button" class="button" onClick={clear}>
          Clear
        </button>
      )}
      {a === undefined || b === undefined ? null : (
        <a class="button main" href={toComparePath({ a, b })}>
          Compare
        </a>
      )}
    </section>
  );
}

function columnsFor(
  rows: readonly EvaluationSummary[],
  selected: readonly string[],
  select: (ids: readonly string[]) => void,
): readonly Column<EvaluationSummary>[] {
  // One scale for all rows. Intervals of few attempts may be wider than it.
  const means = rows.flatMap(({ reports }) => reports.map(({ mean }) => mean));
  const domain = toDomain(means, [-0.1, 1.1]);
  return [
    {
      name: 'select',
      title: <span class="visually-hidden">Select</span>,
      cell: ({ evaluation_id: id, name, created_at }) => (
        <label class="select-run">
          <input
            type="checkbox"
            checked={selected.includes(id)}
            disabled={selected.length >= 2 && !selected.includes(id)}
            aria-label={`Select ${name ?? 'the evaluation'} of ${formatTime(created_at)} to be compared`}
            onChange={() =>
              select(selected.includes(id) ? selected.filter((other) => other !== id) : [...selected, id])
            }
          />
        </label>
      ),
    },
    {
      name: 'name',
      title: 'Evaluation',
      cell: ({ evaluation_id, name, taskset, created_at, attempts, models }) => (
        <>
          <a class="evaluation-name" href={`/evaluations/${evaluation_id}`}>
            {name ?? taskset.name ?? evaluation_id.slice(0, 13)}
          </a>
          {name === null || taskset.name === null ? null : <div class="quiet small">{taskset.name}</div>}
          <div class="quiet small">
            {`${countText(taskset.tasks, 'task')} × ${countText(models.length, 'model')} × ${countText(attempts, 'attempt')}`}
          </div>
          <div class="quiet small">{`${formatTime(created_at)} UTC`}</div>
        </>
      ),
    },
    {
      name: 'status',
      title: 'Status',
      cell: (row) => (
        <>
          <StatusBadge status={row.status} />
          {shortfallsOf(row).map((shortfall) => (
            <div key={shortfall} class="list-shortfall small">
              {shortfall}
            </div>
          ))}
          {isEnded(row.status) ? null : (
            <div class="list-progress">
              <ProgressBar done={row.progress.done} total={row.progress.total} />
              <span class="quiet small">{`${grouped(row.progress.done)} of ${grouped(row.progress.total)}`}</span>
            </div>
          )}
        </>
      ),
    },
    { name: 'models', title: 'Mean reward, 95 %', cell: (row) => <Models row={row} domain={domain} /> },
    {
      name: 'cost',
      title: 'Cost',
      isNumber: true,
      isExtra: true,
      cell: ({ progress: { spent } }) => moneyText(spent.usd),
    },
  ];
}

function Models({ row: { reports, models }, domain }: { readonly row: EvaluationSummary; readonly domain: Domain }) {
  if (reports.length === 0) return <span class="quiet">{models.slice(0, MOST_MODELS).join(', ')}</span>;
  return (
    <ul class="list-models">
      {reports.slice(0, MOST_MODELS).map((report) => (
        <li key={report.model}>
          <span class="list-model" title={report.model}>
            {report.model}
          </span>
          <IntervalBar value={report.mean} interval={report.ci95} domain={domain} marks={[0, 1]} />
          <span class="list-mean">
            {withInterval(report.mean, report.ci95)}
            <span class="quiet small">{`, ${coverageText(report)}`}</span>
          </span>
        </li>
      ))}
      {reports.length > MOST_MODELS ? <li class="quiet">{`and ${reports.length - MOST_MODELS} more`}</li> : null}
    </ul>
  );
}
