import type { Job } from 'bullmq';
import type { QueueEntry } from './run-queue.ts';

/** Data of a job. Its id names the trace; everything else is in the run's row. */
export interface RunJob {
  /** Environment of the run, as in its entry. */
  readonly envName?: string | undefined;
  readonly keyId?: string | null | undefined;
  /** How often it had been taken from a dead holder when it was last given back. */
  readonly forgiven?: number;
  /** It waits for the death of the process that enqueued it for itself. */
  readonly isHeld?: boolean;
}

/** BullMQ takes ids of digits alone for its own, and a trace id may be one. */
export function toJobId(traceId: string): string {
  return `run-${traceId}`;
}

export function toTraceId(job: Job<RunJob>): string {
  return (job.id ?? '').replace(/^run-/, '');
}

export function toJobData({ envName, keyId }: QueueEntry): RunJob {
  return { envName, keyId };
}

/** BullMQ's first priority is 1, and those without one come before all others. */
export function toJobOptions({ traceId, priority }: QueueEntry) {
  return { jobId: toJobId(traceId), priority: 10 - priority, removeOnComplete: true, removeOnFail: true };
}

export function toEntry(job: Job<RunJob>): QueueEntry {
  const { envName, keyId } = job.data;
  return {
    traceId: toTraceId(job),
    priority: 10 - (job.opts.priority ?? 10),
    ...(envName === undefined ? {} : { envName }),
    ...(keyId === undefined ? {} : { keyId }),
  };
}

/** Whether its last holder is taken for dead. */
export function isRedelivered({ stalledCounter = 0, data }: Job<RunJob>): boolean {
  return stalledCounter > (data.forgiven ?? 0) || data.isHeld === true;
}
