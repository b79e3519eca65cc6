import type { Logger } from 'pino';
import type { CallGuard } from '../../models/gateway/call-guard.ts';
import type { ModelGateway } from '../../models/gateway/create-model.ts';
import { systemTiming } from '../../models/gateway/retries.ts';
import type { Database } from '../../store/database/database.ts';
import { startLoop } from '../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { payerOf, settleAbandoned } from './abandoned-reservations.ts';
import { GuardedAttempt, type GuardParts, type KnownEvaluation } from './guarded-attempt.ts';
import { type BudgetOptions, type Budgets, createBudgets } from './limits/budget.ts';
import { CallCost } from './limits/call-cost.ts';
import { GatewayLimits, type GatewayLimitsOptions, type ModelPermits } from './limits/gateway-limits.ts';

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
  /** Name of the model at its gateway. */
  readonly model: string;
  readonly gateway: ModelGateway;
}

/** Guards the model calls of attempts that this worker executes: budgets, limits, and gateways that are down. */
export interface AttemptGuards {
  /** Makes the guard of one attempt. The caller must end it. @throws the database's error. */
  begin(run: GuardedRun): Promise<AttemptGuard>;
  /** Called after the last attempt has ended. Never rejects. */
  close(): Promise<void>;
}

/** The guards of one attempt. All pay from one budget, each with the prices and limits of its own model. */
export interface AttemptGuard {
  /** The guard for the calls of one side: agent, user or judge. */
  of(model: GuardedModel): CallGuard;
  end(): void;
}

const NO_EVALUATION: KnownEvaluation = { concurrency: 1, hasUsdBudget: false, hasTokenBudget: false };

export function createAttemptGuards(options: AttemptGuardsOptions): AttemptGuards {
  const { database, logger, timing = {} } = options;
  const limits = new GatewayLimits({ ...options, ...timing });
  const budgets: Budgets = createBudgets({ ...options, ...timing });
  const evaluations = new Map<string, GuardedEvaluation>();
  const readAgain = async () => {
    if (evaluations.size === 0) return;
    const known = await readEvaluations(database, [...evaluations.keys()]);
    for (const [id, { attempts }] of evaluations) {
      const evaluation = known.get(id);
      if (evaluation !== undefined) for (const attempt of attempts) attempt.setEvaluation(evaluation);
    }
  };
  // Read repeatedly, because the settings may change during the attempt.
  const reading = startLoop({
    look: readAgain,
    restMs: PERIODS_MS.evaluationSettings,
    onError: (error) => logger.warn({ err: error }, 'The settings of evaluations could not be read'),
  });

  return {
    async begin({ evaluationId, traceId }) {
      // An earlier attempt may have left reservations when its worker was killed.
      if ((await payerOf(database.kysely, traceId)) !== undefined) {
        await database.transaction((transaction) => settleAbandoned(transaction, traceId));
      }
      const known = (await readEvaluations(database, [evaluationId])).get(evaluationId) ?? NO_EVALUATION;
      const watched = evaluations.get(evaluationId) ?? { attempts: new Set() };
      evaluations.set(evaluationId, watched);
      const opened: { readonly attempt: GuardedAttempt; readonly lane: ModelPermits }[] = [];
      const call = { evaluationId, traceId };
      // A model that is added later gets the settings at the next reading.
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
      budgets.close();
      await Promise.all([reading.stop(), limits.close()]);
    },
  };
}

interface GuardedEvaluation {
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
