import type {
  AttemptList,
  ComparisonList,
  EvaluationAccepted,
  EvaluationAttempt,
  EvaluationDetail,
  EvaluationInput,
  EvaluationList,
  EvaluationPatch,
  EvaluationStatus,
  EvaluationSummary,
  TaskList,
  TaskRow,
} from '../contract/service/evaluation.ts';
import type { CalibrationEvent, CalibrationInput } from '../contract/service/judge.ts';
import type { Outcome } from '../contract/service/outcome.ts';
import type { GradesQuery } from '../contract/service/replay.ts';
import type { TasksetList } from '../contract/task.ts';
import { type Connection, createKey } from './connection.ts';
import { everyItem, type RequestOptions, toQuery } from './requests.ts';
import { readWork } from './trace-events.ts';

export interface GradesOption {
  /** Rewards of the runs (default), or of the newest grades. */
  readonly grades?: GradesQuery;
}

interface PageQuery extends GradesOption {
  /** 1 to 100 evaluations, default 50; 1 to 1,000 attempts or tasks, default 100. */
  readonly limit?: number;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string;
}

export interface EvaluationListQuery extends PageQuery {
  readonly name?: string;
  /** Name of the taskset. */
  readonly taskset?: string;
  readonly status?: EvaluationStatus;
  /** ISO 8601, both inclusive. */
  readonly since?: string;
  readonly until?: string;
}

export interface AttemptListQuery extends PageQuery {
  readonly model?: string;
  readonly task_id?: string;
  readonly outcome?: Outcome;
}

export interface TaskListQuery extends PageQuery {
  readonly model?: string;
  readonly task_id?: string;
}

export interface CompareQuery {
  readonly a: string;
  readonly b: string;
  /** Default: models of equal names, or one with one. */
  readonly a_model?: string;
  readonly b_model?: string;
  /** Rewards of the runs (default), or of the newest grades. */
  readonly grades?: GradesQuery;
}

export interface CreateEvaluationOptions extends RequestOptions {
  /** Default: one of its own for each call, so that a lost connection does not make two evaluations. */
  readonly idempotencyKey?: string;
}

/** The evaluations of a service (contract section 7). Every method rejects with an `ApiError` for what it refuses. */
export interface EvaluationsClient {
  create(evaluation: EvaluationInput, options?: CreateEvaluationOptions): Promise<EvaluationAccepted>;
  /** With `waitSeconds` once it has ended, or after so many seconds, at most 240. */
  get(
    evaluationId: string,
    options?: RequestOptions & GradesOption & { readonly waitSeconds?: number },
  ): Promise<EvaluationDetail>;
  /** Newest first. */
  list(query?: EvaluationListQuery, options?: RequestOptions): Promise<EvaluationList>;
  /** Every evaluation of the list, page by page. */
  all(query?: EvaluationListQuery, options?: RequestOptions): AsyncGenerator<EvaluationSummary, void>;
  /** By task, model and attempt; those that have not begun yet too. */
  attempts(evaluationId: string, query?: AttemptListQuery, options?: RequestOptions): Promise<AttemptList>;
  allAttempts(
    evaluationId: string,
    query?: AttemptListQuery,
    options?: RequestOptions,
  ): AsyncGenerator<EvaluationAttempt, void>;
  /** A row for each task and model. */
  tasks(evaluationId: string, query?: TaskListQuery, options?: RequestOptions): Promise<TaskList>;
  allTasks(evaluationId: string, query?: TaskListQuery, options?: RequestOptions): AsyncGenerator<TaskRow, void>;
  /** Begins no more attempts; those that run go on to their end. */
  pause(evaluationId: string, options?: RequestOptions): Promise<EvaluationDetail>;
  resume(evaluationId: string, options?: RequestOptions): Promise<EvaluationDetail>;
  cancel(evaluationId: string, options?: RequestOptions): Promise<EvaluationDetail>;
  /** Runs attempts of these outcomes again; none of them may have a reward. */
  rerun(evaluationId: string, outcomes: readonly Outcome[], options?: RequestOptions): Promise<EvaluationDetail>;
  update(evaluationId: string, patch: EvaluationPatch, options?: RequestOptions): Promise<EvaluationDetail>;
  /** With its traces; one that runs is cancelled. */
  delete(evaluationId: string, options?: RequestOptions): Promise<void>;
  compare(query: CompareQuery, options?: RequestOptions): Promise<ComparisonList>;
}

export interface TasksetsClient {
  /** Files of the service's working directory and tasks that scenarios declare. */
  list(options?: RequestOptions): Promise<TasksetList>;
}

/** Checking many tasks and deleting many traces take their time: more seconds than other requests have. */
const LONG_SECONDS = 240;

export function createEvaluationsClient(connection: Connection): EvaluationsClient {
  const read = <T>(path: string, { signal }: RequestOptions = {}, waitSeconds?: number) =>
    connection.json<T>({ method: 'GET', path, isRepeatable: true, waitSeconds, signal });
  // Each of these says how things should be: once more changes nothing.
  const control = (id: string, verb: string, { signal }: RequestOptions = {}, body?: unknown) =>
    connection.json<EvaluationDetail>({
      method: 'POST',
      path: `${pathOf(id)}/${verb}`,
      body,
      isRepeatable: false,
      signal,
    });
  const list: EvaluationsClient['list'] = (query, options) => read(`/v1/evaluations${toQuery({ ...query })}`, options);
  const attempts: EvaluationsClient['attempts'] = (id, query, options) =>
    read(`${pathOf(id)}/attempts${toQuery({ ...query })}`, options);
  const tasks: EvaluationsClient['tasks'] = (id, query, options) =>
    read(`${pathOf(id)}/tasks${toQuery({ ...query })}`, options);

  return {
    create: (evaluation, { signal, idempotencyKey = createKey() } = {}) =>
      connection.json({
        method: 'POST',
        path: '/v1/evaluations',
        headers: { 'idempotency-key': idempotencyKey },
        body: evaluation,
        isRepeatable: true,
        waitSeconds: LONG_SECONDS,
        signal,
      }),
    get: (id, { signal, waitSeconds, grades } = {}) =>
      read(`${pathOf(id)}${toQuery({ wait: waitSeconds, grades })}`, { ...(signal && { signal }) }, waitSeconds),
    list,
    all: (query = {}, options) => everyItem(query, (page) => list(page, options)),
    attempts,
    allAttempts: (id, query = {}, options) => everyItem(query, (page) => attempts(id, page, options)),
    tasks,
    allTasks: (id, query = {}, options) => everyItem(query, (page) => tasks(id, page, options)),
    pause: (id, options) => control(id, 'pause', options),
    resume: (id, options) => control(id, 'resume', options),
    cancel: (id, options) => control(id, 'cancel', options),
    rerun: (id, outcomes, options) => control(id, 'rerun', options, { outcomes }),
    update: (id, patch, { signal } = {}) =>
      connection.json({ method: 'PATCH', path: pathOf(id), body: patch, isRepeatable: true, signal }),
    delete: (id, { signal } = {}) =>
      connection.json({
        method: 'DELETE',
        path: pathOf(id),
        isRepeatable: false,
        waitSeconds: LONG_SECONDS,
        signal,
      }),
    compare: (query, options) => read(`/v1/evaluations/compare${toQuery({ ...query })}`, options),
  };
}

export function createTasksetsClient(connection: Connection): TasksetsClient {
  return {
    list: ({ signal } = {}) => connection.json({ method: 'GET', path: '/v1/tasksets', isRepeatable: true, signal }),
  };
}

function pathOf(evaluationId: string): string {
  return `/v1/evaluations/${encodeURIComponent(evaluationId)}`;
}

/** Judges of a service (contract section 12). Rejects with an `ApiError` for what the service refuses. */
export interface JudgesClient {
  /**
   * Compares the verdicts of a judge with labels of people, by models of the service. Yields progress, and last the
   * figures. The service stores nothing.
   */
  calibrate(request: CalibrationInput, options?: RequestOptions): AsyncGenerator<CalibrationEvent, void>;
}

export function createJudgesClient(connection: Connection): JudgesClient {
  return {
    calibrate: (body, { signal } = {}) =>
      readWork<CalibrationEvent>(
        connection,
        { path: '/v1/calibrations', body },
        ({ type }) => type === 'calibration',
        signal,
      ),
  };
}
