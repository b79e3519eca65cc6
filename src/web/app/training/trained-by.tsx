import { service } from '../api.ts';
import { Loaded } from '../components/states.tsx';
import { useResource } from '../use-resource.ts';
import { Gain, Lineage } from './job-parts.tsx';
import { MetricsCurve } from './metrics-curve.tsx';
import { useJobEvents } from './use-job-events.ts';

/** How a model was made: for the page of the model. */
export function TrainedBy({ jobId }: { readonly jobId: string }) {
  const { resource, reload } = useResource((signal) => service.training.get(jobId, { signal }), [jobId]);
  const events = useJobEvents(jobId);
  return (
    <Loaded resource={resource} retry={reload}>
      {(job) => (
        <>
          <Gain job={job} />
          <MetricsCurve events={events} />
          <Lineage job={job} />
          <p>
            <a href={`/training/${jobId}`}>The training job with its log</a>
          </p>
        </>
      )}
    </Loaded>
  );
}
