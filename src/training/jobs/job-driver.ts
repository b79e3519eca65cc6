import { randomBytes } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { isTrainingEnd } from '../../contract/training-states.ts';
import { ownerHere } from '../../database/owner.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { ProviderAway, ProviderRefused } from '../providers/provider.ts';
import { advance } from './advance.ts';
import { type JobLease, LeaseLost, type LeaseOptions, takeJob } from './job-lease.ts';
import type { StepParts } from './step-parts.ts';

export interface JobDriverOptions extends Omit<StepParts, 'now'> {
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Keeps the training jobs of a database going. Whoever started it stops it. */
export interface JobDriver {
  /** There may be something to do: it looks soon, and does not wait for its next look. */
  wake(): void;
  /** Gives its jobs back as they are. Resolves when nothing goes on any more. Never rejects. */
  stop(): Promise<void>;
}

/** Between two looks for jobs that are due. */
const LOOK_EVERY_MS = 1_000;
/** How often it says that it works on a job, and hears of a cancel. */
const RENEW_EVERY_MS = 2_000;
/** Jobs at once: most of their time is spent waiting for providers, which keeps nobody busy. */
const MAX_ACTIVE = 16;
const RETRY = { firstMs: 5_000, longestMs: 60_000 } as const;
/** A provider that stays away so long is given up. */
const AWAY_MS = 24 * 60 * 60 * 1_000;
/** Tries of a step that fails for a reason that nobody foresaw. */
const MAX_FAULTS = 8;

/** Aborts a step that goes on: the job is looked at anew. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * Works on all unfinished jobs. There is one driver in each process that has a worker; a job belongs to one of them at a
 * time, by its row, and to the next one as soon as its process is gone.
 */
export function startJobDriver(options: JobDriverOptions): JobDriver {
  return new TrainingJobDriver({ ...options, now: options.now ?? Date.now });
}

class TrainingJobDriver implements JobDriver {
  readonly #parts: StepParts;
  readonly #lease: LeaseOptions;
  readonly #stopping = new AbortController();
  readonly #active = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isWoken = false;

  constructor(parts: StepParts) {
    this.#parts = parts;
    const owner = JSON.stringify(ownerHere(`training_${randomBytes(8).toString('hex')}`));
    this.#lease = { database: parts.database, owner, now: parts.now };
    this.wake();
  }

  wake(): void {
    if (this.#stopping.signal.aborted) return;
    this.#isWoken = true;
    if (this.#looking !== undefined) return;
    clearTimeout(this.#timer);
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Interrupted('The driver is stopped'));
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#active.values());
  }

  async #look(): Promise<void> {
    try {
      while (this.#isWoken && !this.#stopping.signal.aborted) {
        this.#isWoken = false;
        await this.#takeDue();
      }
    } catch (error) {
      this.#parts.logger.error({ err: error }, 'Training jobs could not be looked for');
    } finally {
      this.#looking = undefined;
      if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => this.wake(), LOOK_EVERY_MS);
    }
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
        // The row stays with this owner until the process ends, or the release below gives it back.
        this.#parts.logger.error({ jobId, err: error }, 'A training job could not be worked on');
        return lease.release(this.#parts.now() + RETRY.firstMs).catch(() => {});
      })
      .finally(() => this.#active.delete(jobId));
    this.#active.set(jobId, working);
  }

  /** Step after step, until the job has ended or has to wait. */
  async #drive(lease: JobLease): Promise<void> {
    for (;;) {
      const waitMs = await this.#step(lease).catch((error: unknown) => this.#recover(lease, error));
      if (waitMs === undefined || isTrainingEnd(lease.job.status)) return;
      if (this.#stopping.signal.aborted) return await lease.release(this.#parts.now());
      if (waitMs > 0) return await lease.release(this.#parts.now() + waitMs);
    }
  }

  /** One step, which ends at once when the job is cancelled or lost. @returns milliseconds to wait before the next one. */
  async #step(lease: JobLease): Promise<number> {
    const interrupt = new AbortController();
    const wasCancelled = lease.job.isCancelRequested;
    const renew = setInterval(() => {
      lease
        .renew()
        .then(() => {
          if (lease.job.isCancelRequested && !wasCancelled) interrupt.abort(new Interrupted('The job is cancelled'));
        })
        .catch((error: unknown) => {
          if (error instanceof LeaseLost) interrupt.abort(error);
        });
    }, RENEW_EVERY_MS);
    const signal = AbortSignal.any([interrupt.signal, this.#stopping.signal]);
    try {
      return await advance(this.#parts, lease, signal);
    } catch (error) {
      // A step says its own error where the abort ended it.
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearInterval(renew);
    }
  }

  /** @returns milliseconds to wait; undefined where there is nothing more to do here. */
  async #recover(lease: JobLease, error: unknown): Promise<number | undefined> {
    if (error instanceof LeaseLost) return undefined;
    if (error instanceof Interrupted) return 0;
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
