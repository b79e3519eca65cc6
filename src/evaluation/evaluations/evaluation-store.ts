import type { JsonObject } from '../../contract/json.ts';
import type { ResolvedModel } from '../../contract/model.ts';
import type {
  AttemptList,
  Budget,
  ComparisonList,
  EvaluationDetail,
  EvaluationList,
  EvaluationPatch,
  EvaluationStatus,
  TaskList,
} from '../../contract/service/evaluation.ts';
import type { Outcome } from '../../contract/service/outcome.ts';
import type { GradesQuery } from '../../contract/service/replay.ts';
import type { DatabaseTransaction } from '../../store/database/database.ts';
import type { WaitLimit } from '../../support/runtime/wait-for-end.ts';
import type { Taskset } from '../tasks/taskset.ts';

/**
 * Evaluations, their tasks and attempts (contract section 7). All state is in the database, so that any process with
 * the same database can continue an evaluation. A scheduler starts the attempts (`scheduler.ts`); this interface only
 * changes the plan.
 *
 * Every method is limited to one account and does not find evaluations of others.
 */
export interface EvaluationStore {
  /**
   * Makes and starts an evaluation, or resumes an existing one (`resume`). The caller must have checked its tasks.
   *
   * @throws ApiError invalid_parameter for limits (`EVALUATION_LIMITS`), evaluation_not_found for an unknown parent.
   */
  create(evaluation: NewEvaluation, options?: CreateOptions): Promise<CreatedEvaluation>;
  /** The latest evaluation with this identity that is neither cancelled nor deleted; the same command resumes it. */
  find(evaluation: NewEvaluation): Promise<string | undefined>;
  /** @throws ApiError evaluation_not_found */
  get(account: string, evaluationId: string, options?: GradesOption): Promise<EvaluationDetail>;
  /** The status of an evaluation, read cheaply. @throws ApiError evaluation_not_found */
  status(account: string, evaluationId: string): Promise<EvaluationStatus>;
  /**
   * Resolves when the evaluation has ended, after a time limit, or when the signal is aborted. Does not reject for
   * these.
   */
  waitForEnd(account: string, evaluationId: string, limit: WaitLimit): Promise<void>;
  /** Newest first. @throws ApiError invalid_parameter for a limit or cursor that is not one of this list. */
  list(account: string, query?: EvaluationQuery): Promise<EvaluationList>;
  /**
   * Attempts, started or not, by task, model and attempt.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for a limit or cursor that is not one of this list.
   */
  attempts(account: string, evaluationId: string, query?: AttemptQuery): Promise<AttemptList>;
  /** A row for each task and model, in this order. @throws ApiError as `attempts`. */
  tasks(account: string, evaluationId: string, query?: TaskQuery): Promise<TaskList>;

  /** Stops starting attempts; running ones continue. @throws ApiError evaluation_not_found, evaluation_finished */
  pause(account: string, evaluationId: string): Promise<void>;
  /** @throws ApiError evaluation_not_found, evaluation_finished */
  resume(account: string, evaluationId: string): Promise<void>;
  /**
   * Cancels the evaluation and its running attempts. The status changes at once. @throws ApiError evaluation_not_found,
   * evaluation_finished
   */
  cancel(account: string, evaluationId: string): Promise<void>;
  /**
   * Reruns attempts with these outcomes, and starts a completed evaluation again.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for an outcome that has a reward; evaluation_finished for
   *   a cancelled evaluation.
   */
  rerun(account: string, evaluationId: string, outcomes: readonly Outcome[]): Promise<void>;
  /**
   * Changes an evaluation. More attempts start a completed one again; so does a higher budget after the old one was
   * used up.
   *
   * @throws ApiError evaluation_not_found; invalid_parameter for fewer attempts, or too many in all;
   *   evaluation_finished for a cancelled evaluation.
   */
  patch(account: string, evaluationId: string, patch: EvaluationPatch): Promise<void>;
  /**
   * Cancels a running evaluation, and deletes it with its traces. Queries no longer find it from the call on. Any
   * scheduler of the database can finish an interrupted deletion.
   *
   * @throws ApiError evaluation_not_found
   */
  remove(account: string, evaluationId: string, options?: { readonly signal?: AbortSignal }): Promise<void>;

  /** @throws ApiError evaluation_not_found with the `param`; invalid_parameter for a model that is not in it. */
  compare(account: string, query: ComparisonQuery): Promise<ComparisonList>;
}

export interface NewEvaluation {
  readonly account: string;
  /** API key of the request, whose runs the attempts are; null for none. */
  readonly keyId: string | null;
  readonly name: string | null;
  readonly taskset: Pick<Taskset, 'name' | 'tasks' | 'version'>;
  /** Models without duplicates. */
  readonly models: readonly string[];
  /** Agent that plays with each model; undefined if the models play without one. */
  readonly agent?: string | null | undefined;
  readonly agentVersion?: string | null | undefined;
  /** Model of simulated users. Default: from the scenario or the configuration. */
  readonly userModel?: string | null | undefined;
  /** Model of judges. Default: from the question or the configuration. */
  readonly judgeModel?: string | null | undefined;
  /** Resolved registered names. The store sets them and ignores a given value. */
  readonly resolved?: readonly ResolvedModel[] | undefined;
  /** Attempts of each task with each model. */
  readonly attempts: number;
  readonly maxSteps: number | null;
  readonly timeoutSeconds: number | null;
  readonly sampling: JsonObject;
  readonly seed: number | null;
  /** Concurrent attempts. Default: 32, or the present value of a resumed evaluation. */
  readonly concurrency?: number | undefined;
  /** Budget. Default: none, or the present one of a resumed evaluation. */
  readonly budget?: Budget | null | undefined;
  readonly passThreshold: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly parent?: string | null;
}

export interface CreateOptions {
  /** True resumes the evaluation that `find` finds; more attempts are added, fewer change nothing. Default false. */
  readonly resume?: boolean;
  /** True: what is new, or does not run, is paused until `resume`. Default false. */
  readonly paused?: boolean;
  /** Makes further writes in the same transaction. */
  readonly inTransaction?: (transaction: DatabaseTransaction, created: CreatedEvaluation) => Promise<void>;
}

export interface CreatedEvaluation {
  readonly evaluationId: string;
  readonly evaluationUrl: string;
  readonly status: EvaluationStatus;
  /** False if an existing evaluation was resumed. */
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
  /** Rewards to use: those of the runs (default), or the newest grades if there are any. */
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
