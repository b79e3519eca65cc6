import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { settleAbandoned } from '../../../src/evaluation/evaluations/abandoned-reservations.ts';
import {
  type BudgetedCall,
  type BudgetOptions,
  type Budgets,
  createBudgets,
} from '../../../src/evaluation/evaluations/limits/budget.ts';
import { createSeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { until } from '../../until.ts';
import { addEvaluation, CONNECT, reservedOf, SILENT, spentOf } from './rows.ts';

function budgetsOf(database: Database, options: Partial<BudgetOptions> = {}): Budgets {
  const budgets = createBudgets({ database, logger: SILENT, lookMs: 5, ...options });
  onTestFinished(() => budgets.close());
  return budgets;
}

let traces = 0;
function callOf(evaluationId: string, usd: number, tokens = 0): BudgetedCall {
  traces += 1;
  return { evaluationId, traceId: `trace-${traces}`, usd, tokens };
}

/** The highest sum of what is spent and what is reserved, until it is stopped. */
function watchSum(database: Database, evaluationId: string): { readonly value: Promise<number>; stop(): void } {
  let isStopped = false;
  const watch = async () => {
    let highest = 0;
    while (!isStopped) {
      const { rows } = await sql<{
        sum: number;
      }>`select spent_usd + coalesce((select sum(usd) from evaluation_reservations
        where evaluation_id = ${evaluationId}), 0) as sum from evaluations where evaluation_id = ${evaluationId}`.execute(
        database.kysely,
      );
      highest = Math.max(highest, rows[0]?.sum ?? 0);
      await nextTurn();
    }
    return highest;
  };
  return {
    value: watch(),
    stop: () => {
      isStopped = true;
    },
  };
}

async function reserve(budgets: Budgets, call: BudgetedCall): Promise<string> {
  const reserved = await budgets.reserve(call);
  if (reserved.status === 'reserved') return reserved.id;
  throw new Error(`It ${reserved.status}`);
}

describe.each(Object.entries(CONNECT))('a budget on %s', { timeout: 60_000 }, (_, connect) => {
  it('is never overspent: 8 workers whose calls cost at most what they reserve, with 1 USD', async () => {
    const databases = await connect(8);
    const [database] = databases;
    const evaluationId = await addEvaluation(database, { budget_usd: 1, budget_tokens: 100_000 });
    const highest = watchSum(database, evaluationId);
    const play = async (budgets: Budgets, seed: number) => {
      const random = createSeededRandom(seed);
      for (;;) {
        const call = callOf(evaluationId, 0.01 + random.next() * 0.05, 100);
        const reserved = await budgets.reserve(call);
        if (reserved.status === 'over') return;
        if (reserved.status === 'waits') {
          await budgets.changed(evaluationId, AbortSignal.timeout(30_000));
          continue;
        }
        for (let turn = random.integer(0, 5); turn > 0; turn -= 1) await nextTurn();
        await budgets.settle({ ...call, usd: call.usd * random.next(), tokens: 50 }, reserved.id);
      }
    };
    const attempts = databases.flatMap((each, worker) => {
      const budgets = budgetsOf(each);
      return Array.from({ length: 6 }, (_each, attempt) => play(budgets, worker * 10 + attempt));
    });
    await Promise.all(attempts).finally(() => highest.stop());
    expect(await highest.value).toBeLessThanOrEqual(1 + 1e-6);
    const spent = await spentOf(database, evaluationId);
    expect(spent.usd).toBeLessThanOrEqual(1);
    // It ended because no call did fit any more, not before.
    expect(spent.usd).toBeGreaterThan(1 - 0.06);
    expect(await reservedOf(database, evaluationId)).toMatchObject({ count: 0 });
  });

  it('has a call wait while others go on, and says that it is over when none does', async () => {
    const [database, other] = await connect(2);
    if (other === undefined) throw new Error('One worker alone');
    const [mine, theirs] = [budgetsOf(database), budgetsOf(other)];
    const evaluationId = await addEvaluation(database, { budget_usd: 1 });
    const [first, second] = [callOf(evaluationId, 0.7), callOf(evaluationId, 0.7)];
    const id = await reserve(mine, first);
    expect(await theirs.reserve(second)).toEqual({ status: 'waits' });
    await mine.settle({ ...first, usd: 0.2 }, id);
    const later = await reserve(theirs, second);
    await theirs.settle({ ...second, usd: 0.7 }, later);
    expect(await mine.reserve(callOf(evaluationId, 0.2))).toEqual({ status: 'over' });
    expect((await spentOf(database, evaluationId)).usd).toBeCloseTo(0.9);
  });

  it('of tokens is kept as one of money is', async () => {
    const [database] = await connect(1);
    const budgets = budgetsOf(database);
    const evaluationId = await addEvaluation(database, { budget_tokens: 1_000 });
    const call = callOf(evaluationId, 5, 1_000);
    const id = await reserve(budgets, call);
    await budgets.settle({ ...call, tokens: 400 }, id);
    expect(await budgets.reserve(callOf(evaluationId, 0, 601))).toEqual({ status: 'over' });
    expect((await budgets.reserve(callOf(evaluationId, 0, 600))).status).toBe('reserved');
  });

  it('counts what a killed worker had reserved as spent when its trace begins again, once', async () => {
    const [database] = await connect(1);
    const evaluationId = await addEvaluation(database, { budget_usd: 1 });
    const call = callOf(evaluationId, 0.6, 10);
    const id = await reserve(budgetsOf(database), call);
    for (const _again of [1, 2]) {
      await database.transaction((transaction) => settleAbandoned(transaction, call.traceId));
      expect(await spentOf(database, evaluationId)).toEqual({ usd: 0.6, tokens: 10 });
    }
    // The worker was stopped alone, and tells the end of its call after all.
    await budgetsOf(database).settle({ ...call, usd: 0.1, tokens: 1 }, id);
    expect(await spentOf(database, evaluationId)).toEqual({ usd: 0.6, tokens: 10 });
    expect(await reservedOf(database, evaluationId)).toMatchObject({ count: 0 });
  });

  it('does not wait for ever for what a dead worker had reserved, and waits for one that lives', async () => {
    const [database, other] = await connect(2);
    if (other === undefined) throw new Error('One worker alone');
    const evaluationId = await addEvaluation(database, { budget_usd: 1 });
    const times = { goneMs: 300, lookMs: 20 };
    const living = budgetsOf(other, { ...times, beatMs: 20 });
    const alive = callOf(evaluationId, 0.3);
    const id = await reserve(living, alive);
    const dead = createBudgets({ database: other, logger: SILENT, beatMs: 20 });
    await reserve(dead, callOf(evaluationId, 0.6));
    dead.close();
    const mine = budgetsOf(database, times);
    await until(async () => {
      expect(await mine.reserve(callOf(evaluationId, 0.5))).toEqual({ status: 'waits' });
      await mine.changed(evaluationId, AbortSignal.timeout(10_000));
      return (await reservedOf(database, evaluationId)).count === 1;
    });
    expect((await spentOf(database, evaluationId)).usd).toBeCloseTo(0.6);
    await living.settle({ ...alive, usd: 0.3 }, id);
    expect((await spentOf(database, evaluationId)).usd).toBeCloseTo(0.9);
  });

  it('counts the calls of an evaluation without one', async () => {
    const [database] = await connect(1);
    const evaluationId = await addEvaluation(database);
    const budgets = budgetsOf(database);
    await Promise.all(Array.from({ length: 20 }, () => budgets.settle(callOf(evaluationId, 0.01, 5))));
    expect(await spentOf(database, evaluationId)).toEqual({ usd: expect.closeTo(0.2), tokens: 100 });
  });

  it('is over for an evaluation that was deleted', async () => {
    const [database] = await connect(1);
    const budgets = budgetsOf(database);
    const evaluationId = await addEvaluation(database, { budget_usd: 1 });
    const call = callOf(evaluationId, 0.1);
    const id = await reserve(budgets, call);
    await database.kysely.deleteFrom('evaluations').where('evaluation_id', '=', evaluationId).execute();
    await budgets.settle(call, id);
    expect(await budgets.reserve(call)).toEqual({ status: 'over' });
  });

  it('lets a call that waits go when it is aborted', async () => {
    const [database] = await connect(1);
    const budgets = budgetsOf(database, { lookMs: 60_000 });
    const evaluationId = await addEvaluation(database, { budget_usd: 1 });
    const controller = new AbortController();
    const waiting = expect(budgets.changed(evaluationId, controller.signal)).rejects.toThrow('cancelled');
    controller.abort(new Error('cancelled'));
    await waiting;
  });
});
