import type { Trace } from './trace.ts';

/**
 * Milliseconds from the start of the last attempt, of which steps, usage and timing are too, to the end. Null before that
 * end, and of a run that was never started. Time in the queue is no part of it: `timing.queued_ms` has that.
 */
export function runningMs({ started_at, finished_at }: Pick<Trace, 'started_at' | 'finished_at'>): number | null {
  if (started_at === null || finished_at === null) return null;
  // The clock may have been set back between the two.
  return Math.max(0, Date.parse(finished_at) - Date.parse(started_at));
}
