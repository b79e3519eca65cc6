import { ApiError } from '../../contract/errors.ts';
import type { ResolvedModel } from '../../contract/model.ts';
import { isEnded } from '../../contract/service/ended.ts';
import type {
  ComparisonList,
  EvaluationDetail,
  EvaluationList,
  EvaluationPatch,
  EvaluationStatus,
  EvaluationSummary,
} from '../../contract/service/evaluation.ts';
import { isGradedOutcome, type Outcome } from '../../contract/service/outcome.ts';
import type { Database } from '../../store/database/database.ts';
import { isRegistered, RegisteredModels } from '../../store/models/registered-models.ts';
import { type WaitLimit, waitForEnd } from '../../support/runtime/wait-for-end.ts';
import { attemptsInAll } from './attempt-order.ts';
import { type CancelOptions, endQueued, requestCancels } from './cancel-attempts.ts';
import { changeEvaluation, runAgain } from './change-evaluation.ts';
import { createEvaluation, findSame } from './create-evaluation.ts';
import {
  DELETED,
  type EvaluationRow,
  evaluationFinished,
  findEvaluation,
  lockEvaluation,
  statusOf,
} from './evaluation-rows.ts';
import { harnessModelsOf, modelsOf, parseSettings } from './evaluation-settings.ts';
import type {
  AttemptQuery,
  ComparisonQuery,
  CreatedEvaluation,
  CreateOptions,
  EvaluationQuery,
  EvaluationStore,
  GradesOption,
  NewEvaluation,
  TaskQuery,
} from './evaluation-store.ts';
import { checkPrices } from './limits/check-limits.ts';
import { readLimitHistory } from './limits/limit-history.ts';
import { listAttempts } from './list-attempts.ts';
import { listEvaluations } from './list-evaluations.ts';
import { removeEvaluation } from './remove-evaluation.ts';
import { compareEvaluations } from './report/compare-evaluations.ts';
import { FiguresReader } from './report/evaluation-figures.ts';
import { readTaskRows } from './report/read-task-rows.ts';

export interface EvaluationStoreOptions extends CancelOptions {
  /** Address of the pages, without a slash at the end. */
  readonly appUrl: string | (() => string);
  /** True if a model's price is known (`Models.canPrice`), which budgets in US dollars need. Default: always true. */
  readonly canPrice?: ((model: ResolvedModel) => boolean) | undefined;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly now?: (() => number) | undefined;
  /** Called when attempts may be ready to start. Wakes the scheduler of this process. */
  readonly onChange?: (() => void) | undefined;
}

/** Makes the evaluation store of a database. It needs no closing; the caller closes the database. */
export function createEvaluationStore(options: EvaluationStoreOptions): EvaluationStore {
  return new DatabaseEvaluationStore(options);
}

class DatabaseEvaluationStore implements EvaluationStore {
  readonly #options: EvaluationStoreOptions;
  readonly #database: Database;
  readonly #now: () => number;
  readonly #figures: FiguresReader;
  readonly #registered: RegisteredModels;
  readonly #canPrice: (model: ResolvedModel) => boolean;

  constructor(options: EvaluationStoreOptions) {
    this.#options = options;
    this.#database = options.database;
    this.#now = options.now ?? Date.now;
    this.#canPrice = options.canPrice ?? (() => true);
    this.#figures = new FiguresReader(options.database);
    this.#registered = new RegisteredModels(options.database);
  }

  async create(evaluation: NewEvaluation, options: CreateOptions = {}): Promise<CreatedEvaluation> {
    const toCreated = (created: { evaluationId: string; status: string; isNew: boolean }): CreatedEvaluation => ({
      ...created,
      status: statusOf(created),
      evaluationUrl: this.#urlOf(created.evaluationId),
    });
    const resolved = await this.#resolve(evaluation);
    checkPrices(modelsOf(resolved), evaluation.budget, this.#canPrice);
    const created = await createEvaluation(this.#database, resolved, {
      ...(options.resume === undefined ? {} : { resume: options.resume }),
      ...(options.paused === undefined ? {} : { paused: options.paused }),
      now: this.#now,
      inTransaction: async (transaction, row) => await options.inTransaction?.(transaction, toCreated(row)),
    });
    this.#changed(created.evaluationId);
    return toCreated(created);
  }

  async find(evaluation: NewEvaluation): Promise<string | undefined> {
    return (await findSame(this.#database.kysely, await this.#resolve(evaluation)))?.evaluation_id;
  }

  async get(account: string, evaluationId: string, options: GradesOption = {}): Promise<EvaluationDetail> {
    const row = await findEvaluation(this.#database.kysely, account, evaluationId);
    const {
      environment_hashes,
      changed_environments = [],
      suspects,
      ...figures
    } = await this.#figures.of(row, options);
    const history = await readLimitHistory(this.#database, {
      models: modelsOf(parseSettings(row.settings)),
      since: Number(row.created_at),
      until: row.finished_at === null ? this.#now() : Number(row.finished_at),
    });
    return {
      ...this.#toSummary(row, figures),
      environment_hashes,
      changed_environments,
      concurrency_history: [...history],
      suspects,
    };
  }

  async status(account: string, evaluationId: string): Promise<EvaluationStatus> {
    return statusOf(await findEvaluation(this.#database.kysely, account, evaluationId));
  }

  async waitForEnd(account: string, evaluationId: string, limit: WaitLimit): Promise<void> {
    await waitForEnd({ isEnded: async () => isEnded(await this.status(account, evaluationId)) }, limit);
  }

  async list(account: string, query: EvaluationQuery = {}): Promise<EvaluationList> {
    const page = await listEvaluations(this.#database, account, query);
    const data: EvaluationSummary[] = [];
    for (const row of page.rows) data.push(this.#toSummary(row, await this.#figures.of(row, query)));
    return { object: 'list', data, next_cursor: page.nextCursor() };
  }

  async attempts(account: string, evaluationId: string, query: AttemptQuery = {}) {
    const row = await findEvaluation(this.#database.kysely, account, evaluationId);
    return await listAttempts(this.#database, row, query, (traceId) => `${this.#appUrl()}/traces/${traceId}`);
  }

  async tasks(account: string, evaluationId: string, { task_id: taskId, ...query }: TaskQuery = {}) {
    await findEvaluation(this.#database.kysely, account, evaluationId);
    return await readTaskRows(this.#database, { evaluationId, taskId, ...query });
  }

  async pause(account: string, evaluationId: string): Promise<void> {
    await this.#setStatus(account, evaluationId, 'paused');
  }

  async resume(account: string, evaluationId: string): Promise<void> {
    await this.#setStatus(account, evaluationId, 'running');
  }

  async cancel(account: string, evaluationId: string): Promise<void> {
    await this.#setStatus(account, evaluationId, 'cancelled');
    await endQueued(this.#options, evaluationId);
    this.#changed(evaluationId);
  }

  async rerun(account: string, evaluationId: string, outcomes: readonly Outcome[]): Promise<void> {
    const rewarded = outcomes.find(isGradedOutcome);
    if (rewarded !== undefined) throw hasReward(rewarded);
    await this.#change(account, evaluationId, async (transaction, row) => {
      if (row.status === 'cancelled') throw evaluationFinished(row);
      const again = await runAgain(transaction, evaluationId, outcomes, this.#now());
      const total = attemptsInAll({ ...row, models: parseSettings(row.settings).models.length });
      const isUnbegun = outcomes.includes('over_budget') && row.next_attempt < total;
      if (row.status !== 'completed' || (again === 0 && !isUnbegun)) return;
      await transaction
        .updateTable('evaluations')
        .set({ status: 'running', finished_at: null, report: null })
        .where('evaluation_id', '=', evaluationId)
        .execute();
    });
  }

  async patch(account: string, evaluationId: string, patch: EvaluationPatch): Promise<void> {
    await this.#change(account, evaluationId, async (transaction, row) => {
      const settings = parseSettings(row.settings);
      checkPrices([...modelsOf(settings), ...harnessModelsOf(settings)], patch.budget, this.#canPrice);
      await changeEvaluation(transaction, row, patch, this.#now());
    });
  }

  async remove(
    account: string,
    evaluationId: string,
    { signal = new AbortController().signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#change(account, evaluationId, async (transaction) => {
      await transaction
        .updateTable('evaluations')
        .set({ status: DELETED })
        .where('evaluation_id', '=', evaluationId)
        .execute();
      await requestCancels(transaction, evaluationId);
    });
    await removeEvaluation(this.#options, evaluationId, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error; // A scheduler continues the deletion.
    });
  }

  async compare(account: string, { a, b, a_model, b_model, grades }: ComparisonQuery): Promise<ComparisonList> {
    await findEvaluation(this.#database.kysely, account, a, 'a');
    await findEvaluation(this.#database.kysely, account, b, 'b');
    return await compareEvaluations(this.#database, { a, b, aModel: a_model, bModel: b_model, grades });
  }

  async #setStatus(account: string, evaluationId: string, status: EvaluationStatus): Promise<void> {
    await this.#change(account, evaluationId, async (transaction, row) => {
      if (isEnded(row.status)) throw evaluationFinished(row);
      await transaction
        .updateTable('evaluations')
        .set({ status, finished_at: isEnded(status) ? this.#now() : null, report: null })
        .where('evaluation_id', '=', evaluationId)
        .execute();
      if (status === 'cancelled') await requestCancels(transaction, evaluationId);
    });
  }

  /** Resolves the names of registered models now. @throws ApiError model_not_found for an unknown checkpoint. */
  async #resolve(evaluation: NewEvaluation): Promise<NewEvaluation> {
    const resolved: ResolvedModel[] = [];
    for (const [index, model] of evaluation.models.entries()) {
      const meant = await this.#registered.resolve(evaluation.account, model, `models.${index}`);
      if (isRegistered(meant)) resolved.push(meant);
    }
    return { ...evaluation, resolved };
  }

  /** Changes the locked row, so that no attempt starts and no other change happens meanwhile. */
  async #change(
    account: string,
    evaluationId: string,
    change: (transaction: Parameters<typeof lockEvaluation>[1], row: EvaluationRow) => Promise<void>,
  ): Promise<void> {
    await this.#database.transaction(async (transaction) => {
      await change(transaction, await lockEvaluation(this.#database, transaction, account, evaluationId));
    });
    this.#changed(evaluationId);
  }

  #changed(evaluationId: string): void {
    this.#figures.forget(evaluationId);
    this.#options.onChange?.();
  }

  #toSummary(
    row: EvaluationRow,
    {
      progress,
      reports,
    }: Pick<EvaluationSummary, 'progress'> & { readonly reports: readonly EvaluationSummary['reports'][number][] },
  ): EvaluationSummary {
    const { models, metadata, resolved: _resolved, ...settings } = parseSettings(row.settings);
    return {
      object: 'evaluation',
      evaluation_id: row.evaluation_id,
      evaluation_url: this.#urlOf(row.evaluation_id),
      name: row.name,
      status: statusOf(row),
      created_at: new Date(Number(row.created_at)).toISOString(),
      finished_at: row.finished_at === null ? null : new Date(Number(row.finished_at)).toISOString(),
      parent: row.parent,
      taskset: { name: row.taskset_name, version: row.taskset_version, tasks: row.tasks },
      models: [...models],
      user_model: null,
      judge_model: null,
      ...settings,
      metadata: { ...metadata },
      attempts: row.attempts,
      concurrency: row.concurrency,
      budget: toBudget(row),
      progress,
      reports: [...reports],
    };
  }

  #appUrl(): string {
    const { appUrl } = this.#options;
    return (typeof appUrl === 'function' ? appUrl() : appUrl).replace(/\/+$/, '');
  }

  #urlOf(evaluationId: string): string {
    return `${this.#appUrl()}/evaluations/${evaluationId}`;
  }
}

function toBudget({ budget_usd, budget_tokens }: EvaluationRow): EvaluationSummary['budget'] {
  if (budget_usd === null && budget_tokens === null) return null;
  return {
    ...(budget_usd === null ? {} : { usd: budget_usd }),
    ...(budget_tokens === null ? {} : { tokens: Number(budget_tokens) }),
  };
}

function hasReward(outcome: Outcome): ApiError {
  return new ApiError(
    'invalid_parameter',
    `outcomes has ${JSON.stringify(outcome)}, which has a reward: what has one is not run again. Add attempts instead.`,
    { param: 'outcomes' },
  );
}
