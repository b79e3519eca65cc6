import { sql } from 'kysely';
import type { Logger } from 'pino';
import { attemptsInAll } from './attempt-order.ts';
import { type BeginOptions, beginAttempts, MAX_BEGUN } from './begin-attempts.ts';
import type { CancelOptions } from './cancel-attempts.ts';
import { DELETED } from './evaluation-rows.ts';
import { parseSettings } from './evaluation-settings.ts';
import { removeEvaluation } from './remove-evaluation.ts';

/** Work of a database that goes on beside its evaluations, and is kept in it alone. */
export interface DrivenWork {
  /** Does what can be done now, unless the signal is aborted. @returns whether there is any that goes on. */
  drive(signal: AbortSignal): Promise<boolean>;
}

export interface DriverOptions extends Omit<BeginOptions, 'now'>, CancelOptions {
  readonly logger: Logger;
  readonly others?: readonly DrivenWork[] | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Keeps the evaluations of a database going. Whoever started it stops it. */
export interface Driver {
  /** There may be something to do: it looks soon, and does not wait for its next look. */
  wake(): void;
  /** Resolves when what goes on is over: at once, but for one transaction. Never rejects. */
  stop(): Promise<void>;
}

/** Looks while evaluations run: what other processes end is not heard of here. */
const LOOK_EVERY_MS = 250;
/** Looks while none runs. */
const IDLE_LOOK_EVERY_MS = 1_000;
/** Ends of this process are answered together: a transaction for each would cost as much as some attempts. */
const GATHER_MS = 40;
/** They do not wait for others once so large a part of an evaluation is missing. */
const MISSING_PART = 1 / 8;

/**
 * Begins the attempts of all evaluations that run, and finishes deletions that were cut off. There is one in each process
 * that has a worker. They need not know of each other: the evaluation's row lets one at a time begin attempts.
 */
export function startDriver(options: DriverOptions): Driver {
  return new EvaluationDriver(options);
}

class EvaluationDriver implements Driver {
  readonly #options: DriverOptions;
  readonly #now: () => number;
  readonly #stopping = new AbortController();
  readonly #removals = new Map<string, Promise<void>>();
  readonly #unsubscribe: () => void;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #looking: Promise<void> | undefined;
  #isWoken = false;
  #hasWork = true;
  /** Since the last look. */
  #ends = 0;
  /** Lowest concurrency of the evaluations that run. */
  #concurrency = 1;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#unsubscribe = options.store.observe((_traceId, events) => {
      // Where no evaluation runs, none of these is of one.
      if (!this.#hasWork || events.at(-1)?.type !== 'run.finished') return;
      this.#ends += 1;
      this.#lookWithin(this.#ends >= this.#concurrency * MISSING_PART ? 0 : GATHER_MS);
    });
    this.#lookWithin(0);
  }

  wake(): void {
    this.#lookWithin(0);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The driver is stopped'));
    this.#unsubscribe();
    clearTimeout(this.#timer);
    await this.#looking;
    await Promise.all(this.#removals.values());
  }

  /** The earliest time that anybody has asked for counts. */
  #lookWithin(ms: number): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#looking !== undefined) {
      this.#isWoken ||= ms === 0;
      return;
    }
    const at = performance.now() + ms;
    if (this.#timer !== undefined && this.#dueAt <= at) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#looking = this.#look();
    }, ms);
  }

  async #look(): Promise<void> {
    this.#isWoken = false;
    this.#ends = 0;
    try {
      await this.#drive();
    } catch (error) {
      this.#options.logger.error({ err: error }, 'Attempts of evaluations could not be begun');
    } finally {
      this.#looking = undefined;
      const restMs = this.#hasWork ? LOOK_EVERY_MS : IDLE_LOOK_EVERY_MS;
      this.#lookWithin(this.#isWoken ? 0 : this.#ends > 0 ? GATHER_MS : restMs);
    }
  }

  async #drive(): Promise<void> {
    const driven = await readDriven(this.#options);
    this.#hasWork = driven.length > 0;
    this.#concurrency = Math.min(...driven.map(({ concurrency }) => concurrency));
    for (const evaluation of driven) {
      if (this.#stopping.signal.aborted) return;
      if (evaluation.status === DELETED) this.#remove(evaluation.evaluation_id);
      else if (hasRoom(evaluation, this.#now())) await this.#begin(evaluation.evaluation_id);
    }
    for (const work of this.#options.others ?? []) {
      if (await work.drive(this.#stopping.signal)) this.#hasWork = true;
    }
  }

  /** One evaluation that cannot begin its attempts keeps no other from that. */
  async #begin(evaluationId: string): Promise<void> {
    try {
      const parts = { ...this.#options, now: this.#now };
      while (!this.#stopping.signal.aborted && (await beginAttempts(parts, evaluationId)) >= MAX_BEGUN);
    } catch (error) {
      this.#options.logger.error({ evaluationId, err: error }, 'Attempts of an evaluation could not be begun');
    }
  }

  #remove(evaluationId: string): void {
    if (this.#removals.has(evaluationId)) return;
    const removing = removeEvaluation(this.#options, evaluationId, this.#stopping.signal)
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted) return; // Another driver, or the next one, goes on.
        this.#options.logger.error({ evaluationId, err: error }, 'An evaluation could not be deleted');
      })
      .finally(() => this.#removals.delete(evaluationId));
    this.#removals.set(evaluationId, removing);
  }
}

type Driven = Awaited<ReturnType<typeof readDriven>>[number];

/** In one statement, without a lock: most looks find nothing to do. */
async function readDriven({ database }: DriverOptions) {
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

/** Whether an attempt can begin, or the evaluation is over. */
function hasRoom(evaluation: Driven, now: number): boolean {
  const running = Number(evaluation.running ?? 0);
  if (running >= evaluation.concurrency) return false;
  const isDue = evaluation.due !== null && Number(evaluation.due) <= now;
  if (isDue || (running === 0 && evaluation.due === null)) return true;
  const models = parseSettings(evaluation.settings).models.length;
  return evaluation.next_attempt < attemptsInAll({ ...evaluation, models });
}
