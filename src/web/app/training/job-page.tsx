import { useState } from 'preact/hooks';
import type { TrainingEvent, TrainingJob } from '../../../contract/training.ts';
import { isTrainingEnd } from '../../../contract/training-states.ts';
import { formatCountOf, formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { Failure, Loaded } from '../components/states.tsx';
import { Table } from '../components/table.tsx';
import { formatDifference, formatDifferenceInterval, formatMean } from '../evaluations/figures.ts';
import { usePacedReload } from '../evaluations/use-paced-reload.ts';
import { usePageTitle } from '../use-page-title.ts';
import { MetricsCurve } from './metrics-curve.tsx';
import { TrainingBadge } from './training-page.tsx';
import { useJobEvents } from './use-job-events.ts';

/** A training job: how far it is, its curve, what it was made from, and what it gained. */
export function JobPage({ jobId }: { readonly jobId: string }) {
  const { resource, reload } = usePacedReload(
    (signal) => service.training.get(jobId, { signal }),
    [jobId],
    ({ status }) => !isTrainingEnd(status),
  );
  const events = useJobEvents(jobId);
  usePageTitle(resource.state === 'ready' ? resource.value.name : 'Training');
  return (
    <div class="page training">
      <Loaded resource={resource} retry={reload}>
        {(job) => (
          <>
            <Header job={job} onDone={reload} />
            <Gain job={job} />
            <MetricsCurve events={events} />
            <Lineage job={job} />
            <Log events={events} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Header({ job, onDone }: { readonly job: TrainingJob; onDone(): void }) {
  const [error, setError] = useState<unknown>(undefined);
  const cancel = () => {
    setError(undefined);
    service.training.cancel(job.job_id).then(onDone, setError);
  };
  return (
    <header class="training-header">
      <h1>{job.name}</h1>
      <p>
        <TrainingBadge job={job} /> <span>{`${job.provider}, ${job.method}, from ${job.base}`}</span>{' '}
        <span class="quiet">{`${formatTime(job.created_at)} UTC`}</span>
      </p>
      {job.progress === null || isTrainingEnd(job.status) ? null : (
        <p>{`${job.progress.done} of ${job.progress.total}`}</p>
      )}
      {job.trouble === null ? null : <p class="evaluation-warning">{job.trouble.message}</p>}
      {job.error === null ? null : <p class="bad-text">{`Failed in ${job.error.status}: ${job.error.message}`}</p>}
      {isTrainingEnd(job.status) || job.cancel_requested ? null : (
        <button type="button" class="button" onClick={cancel}>
          Cancel
        </button>
      )}
      {error === undefined ? null : <Failure error={error} />}
    </header>
  );
}

function Gain({ job: { proof, proof_error: missing, evaluations, base, name } }: { readonly job: TrainingJob }) {
  const comparison = proof?.compare.comparisons[0];
  const { base: a, model: b } = evaluations;
  if (comparison === undefined && missing === null && a === null) return null;
  const query = a === null || b === null ? '' : new URLSearchParams({ a, b, a_model: base, b_model: name }).toString();
  return (
    <section>
      <h2>Gain on tasks that it has not seen</h2>
      {comparison === undefined ? (
        <p class="quiet">{missing ?? 'Base and model are being evaluated.'}</p>
      ) : (
        <p>
          <strong>{formatDifference(comparison.difference)}</strong>{' '}
          <span class="quiet">{formatDifferenceInterval(comparison.ci95)}</span>
          {`: mean reward ${formatMean(comparison.a_mean)} of the base, ${formatMean(comparison.b_mean)} of the model; ${comparison.won_count} of ${formatCountOf(comparison.n_tasks, 'task')} won, ${comparison.lost_count} lost.`}
        </p>
      )}
      {query === '' ? null : (
        <p>
          <a href={`/evaluations/compare?${query}`}>Compare task by task</a>
        </p>
      )}
    </section>
  );
}

/** Model, job, dataset, evaluations, traces. */
function Lineage({ job }: { readonly job: TrainingJob }) {
  const { dataset, from, target, checkpoints, provider_ids: ids } = job;
  const evaluations = 'evaluations' in from ? from.evaluations : [];
  return (
    <section>
      <h2>Lineage</h2>
      <dl class="evaluation-facts">
        <div>
          <dt>Model</dt>
          <dd>
            {job.name}
            {target === null ? null : <code>{` ${target}`}</code>}
          </dd>
        </div>
        <div>
          <dt>Checkpoints</dt>
          <dd>{checkpoints.length === 0 ? 'none' : checkpoints.map(({ step }) => `${job.name}@${step}`).join(', ')}</dd>
        </div>
        <div>
          <dt>Job</dt>
          <dd>
            <code>{job.job_id}</code>
            {Object.entries(ids).map(([name, id]) => ` · ${name} ${id}`)}
          </dd>
        </div>
        <div>
          <dt>Learned from</dt>
          <dd>
            {evaluations.map((id) => (
              <span key={id}>
                <a href={`/evaluations/${id}`}>{id.slice(0, 13)}</a> <a href={`/?evaluation_id=${id}`}>its runs</a>{' '}
              </span>
            ))}
            {evaluations.length === 0 ? 'runs of a filter' : null}
          </dd>
        </div>
      </dl>
      {dataset === null ? null : (
        <>
          <p>
            {`${formatCountOf(dataset.lines.train, 'line')} for training, ${dataset.lines.validation} for validation. Dataset `}
            <code title={dataset.hash}>{dataset.hash.slice(0, 10)}</code>
          </p>
          <Table
            label="Steps of the dataset"
            rows={dataset.steps}
            keyOf={({ step }) => step}
            columns={[
              { name: 'step', title: 'Step', cell: ({ step }) => step },
              { name: 'in', title: 'In', isNumber: true, cell: (row) => row.in },
              { name: 'out', title: 'Out', isNumber: true, cell: (row) => row.out },
              { name: 'dropped', title: 'Left out', cell: ({ dropped }) => describeDropped(dropped) },
            ]}
          />
        </>
      )}
    </section>
  );
}

function describeDropped(dropped: Readonly<Record<string, number>>): string {
  return Object.entries(dropped)
    .map(([reason, count]) => `${reason.replaceAll('_', ' ')} ${count}`)
    .join(', ');
}

/** The newest lines that are shown. */
const MAX_LINES = 300;

function Log({ events }: { readonly events: readonly TrainingEvent[] }) {
  const lines = events.flatMap((event): { readonly seq: number; readonly at: string; readonly text: string }[] => {
    const { seq, at } = event;
    if (event.type === 'log') return [{ seq, at, text: event.message }];
    return event.type === 'status' ? [{ seq, at, text: `${event.status} ${event.message ?? ''}` }] : [];
  });
  return (
    <section>
      <h2>Log</h2>
      <ol class="training-log mono">
        {lines.slice(-MAX_LINES).map(({ seq, at, text }) => (
          <li key={seq}>
            <span class="quiet">{at.slice(11, 19)}</span> {text}
          </li>
        ))}
      </ol>
    </section>
  );
}
