import type { Logger } from 'pino';
import type { Database, DatabaseTransaction } from '../../../store/database/database.ts';
import { GroupCommit } from '../../../store/database/group-commit.ts';
import { untilWritten } from '../../../store/database/until-written.ts';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import { startLoop } from '../../../support/runtime/loop.ts';
import { newId } from '../../../support/runtime/new-id.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import { addSpent, lockEvaluation, openReservations } from '../abandoned-reservations.ts';
import { AbandonedWatch } from '../abandoned-watch.ts';

/** An amount of a budget. */
export interface Amount {
  readonly usd: number;
  readonly tokens: number;
}

/** A model call of an evaluation: of an agent, a user or a judge. */
export interface BudgetedCall extends Amount {
  readonly evaluationId: string;
  /** The trace that pays. */
  readonly traceId: string;
}

/**
 * `reserved`: the call may be made and is settled afterwards. `waits`: it does not fit now, but calls in progress may
 * cost less than reserved. `over`: it does not fit, and no call is in progress.
 */
export type Reserved =
  | { readonly status: 'reserved'; readonly id: string }
  | { readonly status: 'waits' }
  | { readonly status: 'over' };

export interface Budgets {
  /** Reserves the most that a call may cost, atomically, so that two workers cannot both take the rest of a budget. */
  reserve(call: BudgetedCall): Promise<Reserved>;
  /**
   * Replaces a call's reservation by its real cost.
   *
   * @param reservationId undefined for a call of an evaluation without a budget.
   */
  settle(call: BudgetedCall, reservationId?: string): Promise<void>;
  /** Resolves when another try to reserve may succeed. @throws the signal's reason. */
  changed(evaluationId: string, signal: AbortSignal): Promise<void>;
  /** Stops. Reservations stay, because their calls may continue. */
  close(): void;
}

export interface BudgetOptions {
  readonly database: Database;
  readonly logger: Pick<Logger, 'warn'>;
  /** Milliseconds between two checks of a waiting call. Default 500. */
  readonly lookMs?: number | undefined;
  /** Milliseconds between two renewals of a reservation. Default 5,000. */
  readonly beatMs?: number | undefined;
  /** Milliseconds without a renewal until the worker counts as dead. Default 30,000. */
  readonly goneMs?: number | undefined;
}

/** Tolerance in US dollars for rounding errors of sums. */
const ROUNDING = 1e-9;

/** Makes the budgets of evaluations, which all workers of a database share. The caller must close them. */
export function createBudgets(options: BudgetOptions): Budgets {
  const { database, logger, lookMs = 500, beatMs = PERIODS_MS.reservations } = options;
  const own = new Set<string>();
  const watch = new AbandonedWatch(database, options.goneMs);
  const waiters = new Set<() => void>();
  const commits = new GroupCommit<BudgetRequest, Reserved>(async (requests) => {
    return await database.transaction((transaction) => commit(transaction, requests));
  });
  // Commits several calls together. Calls without a budget do not wait for the commit.
  const counts = new GroupCommit<BudgetedCall, true>(async (calls) => {
    for (const [id, spent] of sumByEvaluation(calls)) await addSpent(database.kysely, id, spent);
    return calls.map((): true => true);
  });
  const warn = (error: unknown) => logger.warn({ err: error }, 'A budget could not be written');
  const beat = startLoop({
    look: async () => void (own.size > 0 && (await keepAlive(database, [...own]))),
    restMs: beatMs,
    onError: warn,
  });

  return {
    async reserve(call) {
      const id = newId();
      own.add(id);
      const reserved = await commits.submit({ ...call, type: 'reserve', id }).catch((error: unknown) => {
        own.delete(id);
        throw error;
      });
      if (reserved.status !== 'reserved') own.delete(id);
      return reserved;
    },

    async settle(call, reservationId) {
      if (reservationId === undefined) return void (await counts.submit(call));
      const write = () => commits.submit({ ...call, type: 'settle', id: reservationId });
      try {
        // Settling twice has no effect, so an uncertain commit may be repeated.
        await untilWritten(write, { found: async () => undefined });
      } finally {
        // A reservation that could not be settled is no longer renewed, so other workers count it as spent.
        own.delete(reservationId);
      }
      for (const wake of [...waiters]) wake();
    },

    async changed(evaluationId, signal) {
      signal.throwIfAborted();
      let wake = () => {};
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      waiters.add(wake);
      await endsWithin(woken, lookMs, signal).finally(() => waiters.delete(wake));
      await watch.look(evaluationId).catch(warn);
    },

    close() {
      void beat.stop();
    },
  };
}

type BudgetRequest = BudgetedCall &
  ({ readonly type: 'reserve'; readonly id: string } | { readonly type: 'settle'; readonly id: string });

/** One transaction for all requests of the same moment. */
async function commit(
  transaction: DatabaseTransaction,
  requests: readonly BudgetRequest[],
): Promise<readonly Reserved[]> {
  const results = new Map<BudgetRequest, Reserved>();
  // Always in the same order, to prevent deadlocks.
  const evaluations = [...new Set(requests.map(({ evaluationId }) => evaluationId))].sort();
  for (const evaluationId of evaluations) {
    const own = requests.filter((request) => request.evaluationId === evaluationId);
    await commitEvaluation(transaction, evaluationId, own, results);
  }
  return requests.map((request) => results.get(request) ?? { status: 'over' });
}

async function commitEvaluation(
  transaction: DatabaseTransaction,
  evaluationId: string,
  requests: readonly BudgetRequest[],
  results: Map<BudgetRequest, Reserved>,
): Promise<void> {
  const budget = await lockEvaluation(transaction, evaluationId);
  // The evaluation was deleted, and its runs are being cancelled.
  if (budget === undefined) return;
  const open = new Map((await openReservations(transaction, evaluationId)).map((each) => [each.reservation_id, each]));
  const spent = { usd: 0, tokens: 0 };
  const added: BudgetRequest[] = [];
  const removed: string[] = [];
  for (const request of requests) {
    if (request.type === 'settle') {
      const { id } = request;
      // Another worker took this one for dead and counted the reservation as spent.
      if (!open.delete(id)) continue;
      removed.push(id);
      spent.usd += request.usd;
      spent.tokens += request.tokens;
      continue;
    }
    const taken = sumOf([...open.values(), spent, { usd: budget.spent_usd, tokens: budget.spent_tokens }, request]);
    const fits =
      (budget.budget_usd === null || taken.usd <= budget.budget_usd + ROUNDING) &&
      (budget.budget_tokens === null || taken.tokens <= budget.budget_tokens);
    if (!fits) {
      results.set(request, { status: open.size > 0 ? 'waits' : 'over' });
      continue;
    }
    const { id, traceId, usd, tokens } = request;
    open.set(id, { reservation_id: id, trace_id: traceId, usd, tokens, beat: 0 });
    added.push(request);
    results.set(request, { status: 'reserved', id });
  }
  if (spent.usd > 0 || spent.tokens > 0) await addSpent(transaction, evaluationId, spent);
  await writeReservations(transaction, added, removed);
}

async function writeReservations(
  transaction: DatabaseTransaction,
  added: readonly BudgetRequest[],
  removed: readonly string[],
): Promise<void> {
  if (removed.length > 0) {
    await transaction.deleteFrom('evaluation_reservations').where('reservation_id', 'in', removed).execute();
  }
  if (added.length === 0) return;
  const rows = added.map(({ id, traceId, evaluationId, usd, tokens }) => ({
    reservation_id: id,
    trace_id: traceId,
    evaluation_id: evaluationId,
    usd,
    tokens,
  }));
  await transaction.insertInto('evaluation_reservations').values(rows).execute();
}

function sumByEvaluation(calls: readonly BudgetedCall[]): ReadonlyMap<string, Amount> {
  const sums = new Map<string, Amount>();
  for (const call of calls) {
    sums.set(call.evaluationId, sumOf([sums.get(call.evaluationId) ?? { usd: 0, tokens: 0 }, call]));
  }
  return sums;
}

function sumOf(amounts: readonly Amount[]): Amount {
  return {
    usd: amounts.reduce((sum, { usd }) => sum + usd, 0),
    tokens: amounts.reduce((sum, { tokens }) => sum + tokens, 0),
  };
}

async function keepAlive(database: Database, ids: readonly string[]): Promise<void> {
  await database.kysely
    .updateTable('evaluation_reservations')
    .set((row) => ({ beat: row('beat', '+', 1) }))
    .where('reservation_id', 'in', ids)
    .execute();
}
