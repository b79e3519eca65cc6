import type {
  AttemptList,
  Budget,
  ComparisonList,
  EvaluationDetail,
  EvaluationList,
  EvaluationPatch,
  EvaluationStatus,
  TaskList,
} from '../contract/evaluation.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ResolvedModel } from '../contract/model.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { GradesQuery } from '../contract/replay.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { Taskset } from '../tasks/taskset.ts';

/**
 * Evaluations, their tasks and attempts (contract section 7). An evaluation is its rows: whoever opens the same database
 * goes on with it. A driver begins its attempts (`driver.ts`); this interface only says what should happen.
 *
 * Every method is scoped to an account. What belongs to another one is not found.
 */
export interface EvaluationStore {
  /**
   * Makes an evaluation that runs, or goes on with one that is there (`resume`). Its tasks are checked before, by whoever
   * calls this.
   *
   * @throws ApiError invalid_parameter for limits (`EVALUATION_LIMITS`), evaluation_not_found for a parent that is not
   *   there.
   */
  create(evaluation: NewEvaluation, options?: CreateOptions): Promise<CreatedEvaluation>;
  /** The latest evaluation of this identity that is neither cancelled nor deleted: what the same command goes on with. */
  find(evaluation: NewEvaluation): Promise<string | undefined>;
  /** @throws ApiError evaluation_not_found */
  get(account: string, evaluationId: string, options?: GradesOption): Promise<EvaluationDetail>;
  /** Where it stands, which costs next to nothing. @throws ApiError evaluation_not_found */
  status(account: string, evaluationId: string): Promise<EvaluationStatus>;
  /** Resolves when it has ended, after so many seconds, or when the signal is aborted. Never rejects for these. */
  waitForEnd(
    account: string,
    evaluationId: string,
    options: { readonly seconds: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Newest first. @throws ApiError invalid_parameter for a limit or cursor that is not one of this list. */
  list(account: string, query?: EvaluationQuery): Promise<EvaluationList>;
  /**
   * Attempts that have begun and those that have not, by task, model and attempt.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for a limit or cursor that is not one of this list.
   */
  attempts(account: string, evaluationId: string, query?: AttemptQuery): Promise<AttemptList>;
  /** A row for each task and model, in this order. @throws ApiError as `attempts`. */
  tasks(account: string, evaluationId: string, query?: TaskQuery): Promise<TaskList>;

  /** Begins no more attempts; those that run go on to their end. @throws ApiError evaluation_not_found, evaluation_finished */
  pause(account: string, evaluationId: string): Promise<void>;
  /** @throws ApiError evaluation_not_found, evaluation_finished */
  resume(account: string, evaluationId: string): Promise<void>;
  /** Cancels what runs too. It has this status at once. @throws ApiError evaluation_not_found, evaluation_finished */
  cancel(account: string, evaluationId: string): Promise<void>;
  /**
   * Runs attempts of these outcomes again, and sets a completed evaluation running.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for an outcome that has a reward; evaluation_finished for a
   *   cancelled one.
   */
  rerun(account: string, evaluationId: string, outcomes: readonly Outcome[]): Promise<void>;
  /**
   * More attempts set a completed evaluation running; so does a higher budget where the old one was used up.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for fewer attempts, or too many in all; evaluation_finished for
   *   a cancelled one.
   */
  patch(account: string, evaluationId: string, patch: EvaluationPatch): Promise<void>;
  /**
   * Cancels it where it runs, and deletes it with its traces. Nobody finds it from the moment of the call; what was begun
   * is finished by any driver of the database.
   *
   * @throws ApiError evaluation_not_found
   */
  remove(account: string, evaluationId: string, options?: { readonly signal?: AbortSignal }): Promise<void>;

  /** @throws ApiError evaluation_not_found with the `param`; invalid_parameter for a model that is not in it. */
  compare(account: string, query: ComparisonQuery): Promise<ComparisonList>;
}

export interface NewEvaluation {
  readonly account: string;
  /** The API key that it was asked for with; its attempts are runs of this key. Null: none. */
  readonly keyId: string | null;
  readonly name: string | null;
  readonly taskset: Pick<Taskset, 'name' | 'tasks' | 'version'>;
  /** Without repeats. */
  readonly models: readonly string[];
  /** The agent that plays with each model; undefined: the models play by themselves. */
  readonly agent?: string | null | undefined;
  readonly agentVersion?: string | null | undefined;
  /** Plays the simulated users. Default: as the scenario and the configuration say. */
  readonly userModel?: string | null | undefined;
  /** Judges. Default: as the question and the configuration say. */
  readonly judgeModel?: string | null | undefined;
  /** The meaning of registered names. The store finds it out; what is given here is not looked at. */
  readonly resolved?: readonly ResolvedModel[] | undefined;
  /** For each task with each model. */
  readonly attempts: number;
  readonly maxSteps: number | null;
  readonly timeoutSeconds: number | null;
  readonly sampling: JsonObject;
  readonly seed: number | null;
  /** Undefined: 32, and as it is where an evaluation goes on. */
  readonly concurrency?: number | undefined;
  /** Undefined: none, and as it is where an evaluation goes on. */
  readonly budget?: Budget | null | undefined;
  readonly passThreshold: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parent?: string | null;
}

export interface CreateOptions {
  /** Goes on with the evaluation that `find` finds; more attempts are added, fewer change nothing. Default false. */
  readonly resume?: boolean;
  /** Writes that belong to the same commit. */
  readonly alongside?: (transaction: DatabaseTransaction, created: CreatedEvaluation) => Promise<void>;
}

export interface CreatedEvaluation {
  readonly evaluationId: string;
  readonly evaluationUrl: string;
  readonly status: EvaluationStatus;
  /** False: one that was there goes on. */
  readonly isNew: boolean;
}

interface Page {
  /** 1 to 100 evaluations, default 50; 1 to 1,000 attempts or tasks, default 100. */
  readonly limit?: number | undefined;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string | undefined;
}

export interface EvaluationQuery extends Page, GradesOption {
  readonly name?: string | undefined;
  /** Name of the taskset. */
  readonly taskset?: string | undefined;
  readonly status?: EvaluationStatus | undefined;
  /** Milliseconds since 1970, both inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface GradesOption {
  /** Rewards of the runs (the default), or by the newest grades where there are some. */
  readonly grades?: GradesQuery | undefined;
}

export interface AttemptQuery extends Page, GradesOption {
  readonly model?: string | undefined;
  readonly task_id?: string | undefined;
  readonly outcome?: Outcome | undefined;
}

export interface TaskQuery extends Page, GradesOption {
  readonly model?: string | undefined;
  readonly task_id?: string | undefined;
}

export interface ComparisonQuery extends GradesOption {
  readonly a: string;
  readonly b: string;
  readonly a_model?: string | undefined;
  readonly b_model?: string | undefined;
}
