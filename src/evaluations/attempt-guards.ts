import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { CallGuard } from '../model/call-guard.ts';
import type { ModelGateway } from '../model/create-model.ts';
import { systemTiming } from '../model/retries.ts';
import { payerOf, settleAbandoned } from './abandoned-reservations.ts';
import { type BudgetOptions, type Budgets, createBudgets } from './budget.ts';
import { CallCost } from './call-cost.ts';
import { GatewayLimits, type GatewayLimitsOptions, type Lane } from './gateway-limits.ts';
import { GuardedAttempt, type GuardParts, type KnownEvaluation } from './guarded-attempt.ts';

export interface AttemptGuardsOptions {
  readonly database: Database;
  /** Name of the worker. */
  readonly worker: string;
  readonly logger: Pick<Logger, 'warn'>;
  /** For tests: shorter times. */
  readonly timing?: GuardTiming | undefined;
}

export type GuardTiming = Partial<Pick<GatewayLimitsOptions, 'hold' | 'syncMs'>> &
  Partial<Pick<BudgetOptions, 'lookMs' | 'beatMs' | 'goneMs'>> &
  Partial<Pick<GuardParts, 'timing'>>;

export interface GuardedRun {
  readonly evaluationId: string;
  readonly traceId: string;
}

export interface GuardedModel {
  /** As its gateway names it. */
  readonly model: string;
  readonly gateway: ModelGateway;
}

/** Watches over the model calls of the attempts that this worker executes: budgets, limits and gateways that are away. */
export interface AttemptGuards {
  /** For one attempt of an evaluation. Its caller ends it. @throws what the database failed with. */
  begin(run: GuardedRun): Promise<AttemptGuard>;
  /** After the last attempt has ended. Never rejects. */
  close(): Promise<void>;
}

/** The guards of one attempt: all pay from one budget, each at the prices and in the lane of its own model. */
export interface AttemptGuard {
  /** For the calls of one side: agent, user or judge. */
  of(model: GuardedModel): CallGuard;
  end(): void;
}

/** Milliseconds after which an evaluation's settings are read again while it runs: they may be changed meanwhile. */
const READ_EVERY_MS = 1_000;
const NO_EVALUATION: KnownEvaluation = { concurrency: 1, hasUsdBudget: false, hasTokenBudget: false };

export function createAttemptGuards(options: AttemptGuardsOptions): AttemptGuards {
  const { database, logger, timing = {} } = options;
  const limits = new GatewayLimits({ ...options, ...timing });
  const budgets: Budgets = createBudgets({ ...options, ...timing });
  const evaluations = new Map<string, Watched>();
  let reading: Promise<void> | undefined;
  const readAgain = async () => {
    const known = await readEvaluations(database, [...evaluations.keys()]);
    for (const [id, { attempts }] of evaluations) {
      const evaluation = known.get(id);
      if (evaluation !== undefined) for (const attempt of attempts) attempt.setEvaluation(evaluation);
    }
  };
  const timer = setInterval(() => {
    if (evaluations.size === 0) return;
    reading ??= readAgain()
      .catch((error: unknown) => logger.warn({ err: error }, 'The settings of evaluations could not be read'))
      .finally(() => {
        reading = undefined;
      });
  }, READ_EVERY_MS);
  timer.unref();

  return {
    async begin({ evaluationId, traceId }) {
      // An attempt before this one may have left something when its worker was killed.
      if ((await payerOf(database.kysely, traceId)) !== undefined) {
        await database.transaction((transaction) => settleAbandoned(transaction, traceId));
      }
      const known = (await readEvaluations(database, [evaluationId])).get(evaluationId) ?? NO_EVALUATION;
      const watched = evaluations.get(evaluationId) ?? { attempts: new Set() };
      evaluations.set(evaluationId, watched);
      const opened: { readonly attempt: GuardedAttempt; readonly lane: Lane }[] = [];
      const call = { evaluationId, traceId };
      // A model that joins later is told with the next look at the evaluation where it has changed since.
      return {
        of: ({ model, gateway }) => {
          const lane = limits.open({ gateway: gateway.id, model }, known.concurrency);
          const parts = { call, lane, budgets, cost: new CallCost(gateway), model, logger };
          const isPriced = gateway.prices !== undefined;
          const attempt = new GuardedAttempt({ ...parts, timing: timing.timing ?? systemTiming, isPriced }, known);
          watched.attempts.add(attempt);
          opened.push({ attempt, lane });
          return attempt;
        },
        end: () => {
          for (const { attempt, lane } of opened.splice(0)) {
            watched.attempts.delete(attempt);
            lane.close();
          }
          if (watched.attempts.size === 0 && evaluations.get(evaluationId) === watched)
            evaluations.delete(evaluationId);
        },
      };
    },
    async close() {
      clearInterval(timer);
      budgets.close();
      await Promise.all([reading, limits.close()]);
    },
  };
}

interface Watched {
  readonly attempts: Set<GuardedAttempt>;
}

async function readEvaluations(
  { kysely }: Database,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownEvaluation>> {
  const rows = await kysely
    .selectFrom('evaluations')
    .select(['evaluation_id', 'concurrency', 'budget_usd', 'budget_tokens'])
    .where('evaluation_id', 'in', ids)
    .execute();
  return new Map(
    rows.map(({ evaluation_id, concurrency, budget_usd, budget_tokens }) => [
      evaluation_id,
      { concurrency, hasUsdBudget: budget_usd !== null, hasTokenBudget: budget_tokens !== null },
    ]),
  );
}
