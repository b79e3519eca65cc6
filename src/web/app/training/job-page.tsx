import { useState } from 'preact/hooks';
import { isEnded } from '../../../contract/service/ended.ts';
import type { TrainingEvent, TrainingJob } from '../../../contract/service/training.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { Failure, Loaded } from '../components/states.tsx';
import { usePacedReload } from '../evaluations/use-paced-reload.ts';
import { usePageTitle } from '../use-page-title.ts';
import { Gain, Lineage } from './job-parts.tsx';
import { MetricsCurve } from './metrics-curve.tsx';
import { TrainingBadge } from './training-page.tsx';
import { useJobEvents } from './use-job-events.ts';

/** A training job: how far it is, its curve, what it was made from, and what it gained. */
export function JobPage({ jobId }: { readonly jobId: string }) {
  const { resource, reload } = usePacedReload(
    (signal) => service.training.get(jobId, { signal }),
    [jobId],
    ({ status }) => !isEnded(status),
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
      {job.progress === null || isEnded(job.status) ? null : <p>{`${job.progress.done} of ${job.progress.total}`}</p>}
      {job.trouble === null ? null : <p class="evaluation-warning">{job.trouble.message}</p>}
      {job.error === null ? null : <p class="bad-text">{`Failed in ${job.error.status}: ${job.error.message}`}</p>}
      {isEnded(job.status) || job.cancel_requested ? null : (
        <button type="button" class="button" onClick={cancel}>
          Cancel
        </button>
      )}
      {error === undefined ? null : <Failure error={error} />}
    </header>
  );
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
