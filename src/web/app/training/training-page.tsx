import { isEnded } from '../../../contract/service/ended.ts';
import type { TrainingJob } from '../../../contract/service/training.ts';
import { countText, signedText } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { OlderLink } from '../components/older-link.tsx';
import { Empty, Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { usePacedReload } from '../evaluations/use-paced-reload.ts';
import { usePageTitle } from '../use-page-title.ts';
import { TrainForm } from './train-form.tsx';

/** The training jobs of the account, newest first; with `?evaluation=` the form that begins one. */
export function TrainingPage({ query }: { readonly query: URLSearchParams }) {
  usePageTitle('Training');
  const cursor = query.get('cursor');
  const evaluationId = query.get('evaluation');
  const { resource, reload } = usePacedReload(
    (signal) => service.training.list(cursor === null ? {} : { cursor }, { signal }),
    [cursor],
    (list) => list.data.some(({ status }) => !isEnded(status)) || cursor === null,
  );
  return (
    <div class="page training">
      <h1>Training</h1>
      {evaluationId === null ? null : <TrainForm evaluationId={evaluationId} />}
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            {data.length === 0 ? (
              <NoJobs />
            ) : (
              <Table label="Training jobs" columns={COLUMNS} rows={data} keyOf={({ job_id }) => job_id} />
            )}
            <OlderLink cursor={next_cursor}>Older jobs</OlderLink>
          </>
        )}
      </Loaded>
    </div>
  );
}

function NoJobs() {
  return (
    <Empty title="No training jobs yet">
      <p class="quiet">
        A job trains a model on the successful runs of an evaluation. Begin one from the page of an evaluation, or:
      </p>
      <pre class="text mono">
        npx proctor train --name better --base proctor/novice --evaluation last --include-reference
      </pre>
    </Empty>
  );
}

const COLUMNS: readonly Column<TrainingJob>[] = [
  {
    name: 'name',
    title: 'Model',
    cell: ({ job_id, name, base, created_at }) => (
      <>
        <a href={`/training/${job_id}`}>{name}</a>
        <div class="quiet small">{`from ${base}`}</div>
        <div class="quiet small">{`${formatTime(created_at)} UTC`}</div>
      </>
    ),
  },
  { name: 'status', title: 'Status', cell: (job) => <TrainingBadge job={job} /> },
  { name: 'provider', title: 'Trainer', cell: ({ provider }) => provider },
  {
    name: 'lines',
    title: 'Learned from',
    cell: ({ dataset }) => (dataset === null ? '–' : countText(dataset.lines.train, 'run')),
  },
  {
    name: 'gain',
    title: 'Gain',
    isNumber: true,
    cell: ({ proof }) => signedText(proof?.compare.comparisons[0]?.difference ?? null),
  },
];

const TONES: Partial<Record<TrainingJob['status'], string>> = {
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function TrainingBadge({ job: { status, cancel_requested: isCancelled } }: { readonly job: TrainingJob }) {
  const isEnding = isCancelled && !isEnded(status);
  return (
    <span class={`badge ${TONES[status] ?? 'running'}`}>
      <span class="dot" />
      {isEnding ? `${status}, being cancelled` : status}
    </span>
  );
}
