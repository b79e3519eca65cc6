import type { Job } from 'bullmq';
import type { QueueEntry } from './run-queue.ts';

/** Data of a job. Its id contains the trace id. All other data is in the run's row. */
export interface RunJob {
  /** Environment and key of the run, for filters. */
  readonly envName?: string | undefined;
  readonly keyId?: string | null | undefined;
  /** Number of times that a dead holder lost the job, at the time when the job was last given back. */
  readonly forgiven?: number;
  /** True for a job that its own process runs. It becomes due only when that process dies. */
  readonly isHeld?: boolean;
}

/** BullMQ reserves ids of digits, and a trace id may have only digits. */
export function toJobId(traceId: string): string {
  return `run-${traceId}`;
}

export function toTraceId(job: Job<RunJob>): string {
  return (job.id ?? '').replace(/^run-/, '');
}

export function toJobData({ envName, keyId }: QueueEntry): RunJob {
  return { envName, keyId };
}

/** BullMQ's first priority is 1. Jobs without a priority come before all others. */
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

/** True when the last holder of the job is presumed dead. */
export function isRedelivered({ stalledCounter = 0, data }: Job<RunJob>): boolean {
  return stalledCounter > (data.forgiven ?? 0) || data.isHeld === true;
}
