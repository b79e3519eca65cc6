import { runningMs } from '../../../contract/running-time.ts';
import type { TraceSummary } from '../../../contract/trace.ts';
import { formatDuration } from '../../format.ts';

/** Less says nothing of where the time went. */
const LEAST_QUEUED_MS = 1_000;

/** How long a run has run; apart from it how long it waited before, where that is worth a word. */
export function RunningTime({
  trace,
}: {
  readonly trace: Pick<TraceSummary, 'started_at' | 'finished_at' | 'timing'>;
}) {
  const took = runningMs(trace);
  const queued = describeQueued(trace);
  return (
    <>
      {took === null ? '–' : formatDuration(took)}
      {queued === '' ? null : <div class="quiet small">{queued}</div>}
    </>
  );
}

/** `1 min 10 s queued`; empty for hardly any. */
export function describeQueued({ timing }: Pick<TraceSummary, 'timing'>): string {
  return timing.queued_ms < LEAST_QUEUED_MS ? '' : `${formatDuration(timing.queued_ms)} queued`;
}
