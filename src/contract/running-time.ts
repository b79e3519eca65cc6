import type { Trace } from './service/trace.ts';

/**
 * Milliseconds from the start of the last attempt to its end. Steps, usage and timing of a trace are of that attempt
 * too. Null before the end, and for a run that never started. Time in the queue is in `timing.queued_ms` and not part
 * of this.
 */
export function runningMs({ started_at, finished_at }: Pick<Trace, 'started_at' | 'finished_at'>): number | null {
  if (started_at === null || finished_at === null) return null;
  // The clock may have been set back between the two.
  return Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
}
