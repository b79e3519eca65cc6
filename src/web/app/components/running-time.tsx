import { runningMs } from '../../../contract/running-time.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { durationText } from '../../../support/text/figures.ts';

/** Shortest wait that is shown. */
const LEAST_QUEUED_MS = 1_000;

/** Duration of a run, and the wait before it if that is long enough. */
export function RunningTime({
  trace,
}: {
  readonly trace: Pick<TraceSummary, 'started_at' | 'finished_at' | 'timing'>;
}) {
  const took = runningMs(trace);
  const queued = describeQueued(trace);
  return (
    <>
      {took === null ? '–' : durationText(took)}
      {queued === '' ? null : <div class="quiet small">{queued}</div>}
    </>
  );
}

/** Text for the wait: `1 min 10 s queued`; empty for a short one. */
export function describeQueued({ timing }: Pick<TraceSummary, 'timing'>): string {
  return timing.queued_ms < LEAST_QUEUED_MS ? '' : `${durationText(timing.queued_ms)} queued`;
}
