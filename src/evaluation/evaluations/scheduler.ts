import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Loop, startLoop } from '../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { attemptsInAll } from './attempt-order.ts';
import { type BeginOptions, beginAttempts, MAX_BEGUN } from './begin-attempts.ts';
import type { CancelOptions } from './cancel-attempts.ts';
import { DELETED } from './evaluation-rows.ts';
import { parseSettings } from './evaluation-settings.ts';
import { removeEvaluation } from './remove-evaluation.ts';

/** Another job that the scheduler runs, with all state in the database. */
export interface BackgroundJob {
  /** Does the work that is possible now, unless the signal is aborted. @returns true if work remains. */
  drive(signal: AbortSignal): Promise<boolean>;
}

export interface SchedulerOptions extends Omit<BeginOptions, 'now'>, CancelOptions {
  readonly logger: Logger;
  readonly jobs?: readonly BackgroundJob[] | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Keeps the evaluations of a database running. The caller must stop it. */
export interface Scheduler {
  /** Called when there may be work: the scheduler looks soon, without waiting for its next interval. */
  wake(): void;
  /** Resolves when the work in progress is over, at most one transaction. Never rejects. */
  stop(): Promise<void>;
}

/** Milliseconds to collect ends of runs, because a transaction for each would cost as much as some attempts. */
const GATHER_MS = 40;
/** Share of an evaluation's concurrency that may be missing before the scheduler stops collecting. */
const MISSING_PART = 1 / 8;

/**
 * Starts the attempts of all running evaluations, and finishes interrupted deletions. Every process with a worker has
 * one. They need no coordination, because the lock on the evaluation's row lets one at a time start attempts.
 */
export function startScheduler(options: SchedulerOptions): Scheduler {
  return new EvaluationScheduler(options);
}

class EvaluationScheduler implements Scheduler {
  readonly #options: SchedulerOptions;
  readonly #now: () => number;
  readonly #removals = new Map<string, Promise<void>>();
  readonly #unsubscribe: () => void;
  readonly #loop: Loop;
  #hasWork = true;
  /** Ends of runs since the last look. */
  #ends = 0;
  /** Lowest concurrency of the running evaluations. */
  #concurrency = 1;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#unsubscribe = options.store.observe((_traceId, events) => {
      // Without a running evaluation, no end belongs to one.
      if (!this.#hasWork || events.at(-1)?.type !== 'run.finished') return;
      this.#ends += 1;
      this.#loop.wake(this.#ends >= this.#concurrency * MISSING_PART ? 0 : GATHER_MS);
    });
    this.#loop = startLoop({
      look: (signal) => this.#look(signal),
      restMs: PERIODS_MS.evaluations,
      looksAtOnce: true,
      keepsAlive: true,
      onError: (error) => options.logger.error({ err: error }, 'Attempts of evaluations could not be begun'),
    });
  }

  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop.stop();
    await Promise.all(this.#removals.values());
  }

  /** Does one round of work. @returns milliseconds until the next. */
  async #look(signal: AbortSignal): Promise<number> {
    this.#ends = 0;
    const running = await readScheduled(this.#options);
    this.#hasWork = running.length > 0;
    this.#concurrency = Math.min(...running.map(({ concurrency }) => concurrency));
    for (const evaluation of running) {
      if (signal.aborted) break;
      if (evaluation.status === DELETED) this.#remove(evaluation.evaluation_id, signal);
      else if (hasRoom(evaluation, this.#now())) await this.#begin(evaluation.evaluation_id, signal);
    }
    for (const job of this.#options.jobs ?? []) {
      if (await job.drive(signal)) this.#hasWork = true;
    }
    return this.#hasWork ? PERIODS_MS.evaluations : PERIODS_MS.idleEvaluations;
  }

  /** Starts attempts of one evaluation. An error does not stop the others. */
  async #begin(evaluationId: string, signal: AbortSignal): Promise<void> {
    try {
      const parts = { ...this.#options, now: this.#now };
      while (!signal.aborted && (await beginAttempts(parts, evaluationId)) >= MAX_BEGUN);
    } catch (error) {
      this.#options.logger.error({ evaluationId, err: error }, 'Attempts of an evaluation could not be begun');
    }
  }

  #remove(evaluationId: string, signal: AbortSignal): void {
    if (this.#removals.has(evaluationId)) return;
    const removing = removeEvaluation(this.#options, evaluationId, signal)
      .catch((error: unknown) => {
        if (signal.aborted) return; // Another scheduler, or the next one, goes on.
        this.#options.logger.error({ evaluationId, err: error }, 'An evaluation could not be deleted');
      })
      .finally(() => this.#removals.delete(evaluationId));
    this.#removals.set(evaluationId, removing);
  }
}

type Driven = Awaited<ReturnType<typeof readScheduled>>[number];

/** Reads in one statement without a lock, because most looks find nothing to do. */
async function readScheduled({ database }: SchedulerOptions) {
  return await database.kysely
    .selectFrom('evaluations')
    .select(['evaluation_id', 'status', 'tasks', 'attempts', 'settings', 'concurrency', 'next_attempt'])
    .select(({ selectFrom }) => [
      selectFrom('evaluation_attempts')
        .select(({ fn }) => fn.countAll<number>().as('running'))
        .whereRef('evaluation_attempts.evaluation_id', '=', 'evaluations.evaluation_id')
        .where('state', '=', 'running')
        .where(sql<boolean>`state <> 'done'`)
        .as('running'),
      selectFrom('evaluation_attempts')
        .select(({ fn }) => fn.min('due_at').as('due'))
        .whereRef('evaluation_attempts.evaluation_id', '=', 'evaluations.evaluation_id')
        .where('state', '=', 'waiting')
        .where(sql<boolean>`state <> 'done'`)
        .as('due'),
    ])
    .where(sql<boolean>`status = 'running' or status = 'deleted'`)
    .execute();
}

/** True if an attempt can start, or if the evaluation is over. */
function hasRoom(evaluation: Driven, now: number): boolean {
  const running = Number(evaluation.running ?? 0);
  if (running >= evaluation.concurrency) return false;
  const isDue = evaluation.due !== null && Number(evaluation.due) <= now;
  if (isDue || (running === 0 && evaluation.due === null)) return true;
  const models = parseSettings(evaluation.settings).models.length;
  return evaluation.next_attempt < attemptsInAll({ ...evaluation, models });
}
