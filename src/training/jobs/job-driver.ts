import { randomBytes } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import { LeaseLostError, ownerHere } from '../../store/database/row-lease.ts';
import { backoffMs } from '../../support/runtime/backoff.ts';
import { type Loop, startLoop } from '../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { ProviderAway, ProviderRefused } from '../providers/provider.ts';
import { advance } from './advance.ts';
import { type JobLease, type LeaseOptions, takeJob } from './job-lease.ts';
import type { StepParts } from './step-parts.ts';

export interface JobDriverOptions extends Omit<StepParts, 'now'> {
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Works on the training jobs of a database. Its creator stops it. */
export interface JobDriver {
  /** Looks for work soon, without waiting for the next period. */
  wake(): void;
  /** Releases its jobs unchanged. Resolves when no step is running. It never rejects. */
  stop(): Promise<void>;
}

/** Largest number of concurrent jobs. They mostly wait for providers. */
const MAX_ACTIVE = 16;
const RETRY = { firstMs: 5_000, longestMs: 60_000 } as const;
/** Milliseconds after which an unreachable provider fails the job. */
const AWAY_MS = 24 * 60 * 60 * 1_000;
/** Largest number of tries of a step after unexpected errors. */
const MAX_FAULTS = 8;

/** Aborts the running step, so that the job is looked at again. */
const INTERRUPTED = new Error('The job is cancelled, or the driver is stopped');

/**
 * Starts a driver for all unfinished jobs. Each process with a worker has one. A row lease assigns a job to one driver
 * at a time; when its process is gone, another takes over.
 */
export function startJobDriver(options: JobDriverOptions): JobDriver {
  return new TrainingJobDriver({ ...options, now: options.now ?? Date.now });
}

class TrainingJobDriver implements JobDriver {
  readonly #parts: StepParts;
  readonly #lease: LeaseOptions;
  readonly #stopping = new AbortController();
  readonly #active = new Map<string, Promise<void>>();
  readonly #loop: Loop;

  constructor(parts: StepParts) {
    this.#parts = parts;
    const owner = JSON.stringify(ownerHere(`training_${randomBytes(8).toString('hex')}`));
    this.#lease = { database: parts.database, owner, now: parts.now };
    this.#loop = startLoop({
      look: () => this.#takeDue(),
      restMs: PERIODS_MS.trainingJobs,
      looksAtOnce: true,
      keepsAlive: true,
      onError: (error) => parts.logger.error({ err: error }, 'Training jobs could not be looked for'),
    });
  }

  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(INTERRUPTED);
    await this.#loop.stop();
    await Promise.all(this.#active.values());
  }

  async #takeDue(): Promise<void> {
    const { database, now } = this.#parts;
    const rows = await database.kysely
      .selectFrom('training_jobs')
      .selectAll()
      .where('finished_at', 'is', null)
      .where('due_at', '<=', now())
      .orderBy('due_at')
      .limit(MAX_ACTIVE * 4)
      .execute();
    for (const row of rows) {
      if (this.#active.size >= MAX_ACTIVE || this.#stopping.signal.aborted) return;
      if (this.#active.has(row.job_id)) continue;
      const lease = await takeJob(this.#lease, row);
      if (lease !== undefined) this.#work(row.job_id, lease);
    }
  }

  #work(jobId: string, lease: JobLease): void {
    const working = this.#drive(lease)
      .catch((error: unknown) => {
        // The owner keeps the row until its process ends, or until the release below.
        this.#parts.logger.error({ jobId, err: error }, 'A training job could not be worked on');
        return lease.release(this.#parts.now() + RETRY.firstMs).catch(() => {});
      })
      .finally(() => this.#active.delete(jobId));
    this.#active.set(jobId, working);
  }

  /** Runs steps until the job ends or has to wait. */
  async #drive(lease: JobLease): Promise<void> {
    for (;;) {
      const waitMs = await this.#step(lease).catch((error: unknown) => this.#recover(lease, error));
      if (waitMs === undefined || isEnded(lease.job.status)) return;
      if (this.#stopping.signal.aborted) return await lease.release(this.#parts.now());
      if (waitMs > 0) return await lease.release(this.#parts.now() + waitMs);
    }
  }

  /**
   * Runs one step, which ends at once when the job is cancelled or lost. @returns milliseconds to wait before the next
   * one.
   */
  async #step(lease: JobLease): Promise<number> {
    const interrupt = new AbortController();
    const wasCancelled = lease.job.isCancelRequested;
    const renewal = startLoop({
      async look() {
        await lease.renew();
        if (lease.job.isCancelRequested && !wasCancelled) interrupt.abort(INTERRUPTED);
      },
      restMs: PERIODS_MS.trainingLease,
      onError(error) {
        if (error instanceof LeaseLostError) interrupt.abort(error);
      },
    });
    const signal = AbortSignal.any([interrupt.signal, this.#stopping.signal]);
    try {
      return await advance(this.#parts, lease, signal);
    } catch (error) {
      // After an abort the step throws its own error, so the reason of the abort replaces it.
      throw signal.aborted ? signal.reason : error;
    } finally {
      await renewal.stop();
    }
  }

  /** @returns milliseconds to wait; undefined when this process has nothing more to do with the job. */
  async #recover(lease: JobLease, error: unknown): Promise<number | undefined> {
    if (error instanceof LeaseLostError) return undefined;
    if (error === INTERRUPTED) return 0;
    const { job } = lease;
    if (error instanceof ProviderRefused || error instanceof ApiError) {
      await failJob(lease, error.code, error.message);
      return undefined;
    }
    const now = this.#parts.now();
    const since = job.result.trouble?.since ?? now;
    const isAway = error instanceof ProviderAway;
    if (!isAway)
      this.#parts.logger.error({ jobId: job.id, status: job.status, err: error }, 'A step of a training job failed');
    if (isAway && now - since >= AWAY_MS) {
      await failJob(
        lease,
        'provider_unreachable',
        `The provider did not answer for a day, the last time: ${error.message} Start the job again when it does.`,
      );
      return undefined;
    }
    if (!isAway && job.failures + 1 >= MAX_FAULTS) {
      await failJob(
        lease,
        'internal_error',
        'This step failed again and again for a reason that is in the log of the service. Start the job again when it is mended.',
      );
      return undefined;
    }
    const message = isAway ? error.message : 'A step failed, and is tried again: the log of the service says why.';
    const failures = job.failures + 1;
    const isNew = job.result.trouble?.message !== message;
    await lease.write({
      failures,
      result: { trouble: { since, message } },
      ...(isNew ? { events: [{ type: 'log', level: 'warning', message }] } : {}),
    });
    const asked = isAway ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(asked, backoffMs(Math.min(failures - 1, 8), RETRY));
  }
}

async function failJob(lease: JobLease, code: string, message: string): Promise<void> {
  const { status } = lease.job;
  await lease.write({ status: 'failed', message, result: { error: { code, message, status }, trouble: null } });
}
