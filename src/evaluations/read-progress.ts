import { sql } from 'kysely';
import type { Progress } from '../contract/evaluation.ts';
import { type OutcomeCounts, outcomeSchema } from '../contract/outcome.ts';
import type { Database } from '../database/database.ts';
import { type EvaluationPlan, outcomeOfRest, readPlan } from './evaluation-plan.ts';
import { addTo } from './read-cells.ts';
import { UNKNOWN_EARLIER_USD, UNKNOWN_HARNESS_USD, UNKNOWN_USD } from './read-reports.ts';

/**
 * How far an evaluation is. The attempts of one that has ended are all done: those that never began are `over_budget`
 * where it is completed, `cancelled` where it is cancelled.
 *
 * @throws ApiError evaluation_not_found
 */
export async function readProgress(database: Database, evaluationId: string): Promise<Progress> {
  return await countAttempts(database, await readPlan(database.kysely, evaluationId));
}

interface CountRow {
  readonly running: number;
  readonly reruns: number;
  readonly tokens: number;
  readonly usd: number;
  readonly unknown_usd: number;
  readonly [outcome: `of_${string}`]: number;
}

/** In one pass without a sort: grouping by outcome takes twice as long. */
async function countAttempts({ scans }: Database, plan: EvaluationPlan): Promise<Progress> {
  const { rows } = await sql<CountRow>`
    select ${countOf(sql`state = 'running'`)} as running, coalesce(sum(rerun), 0) as reruns,
      coalesce(sum(total_tokens + earlier_tokens), 0) as tokens,
      coalesce(sum(coalesce(cost_usd, 0) + coalesce(user_usd, 0) + coalesce(judge_usd, 0)
        + coalesce(earlier_usd, 0)), 0) as usd,
      coalesce(sum(${UNKNOWN_USD} + ${UNKNOWN_HARNESS_USD} + ${UNKNOWN_EARLIER_USD}), 0) as unknown_usd,
      ${sql.join(
        outcomeSchema.options.map(
          (outcome) =>
            sql`${countOf(sql`state = 'done' and outcome = ${sql.lit(outcome)}`)} as ${sql.ref(`of_${outcome}`)}`,
        ),
      )}
    from evaluation_attempts where evaluation_id = ${plan.evaluationId}`.execute(scans);
  return toProgress(plan, rows[0]);
}

function countOf(condition: ReturnType<typeof sql>) {
  return sql`count(case when ${condition} then 1 end)`;
}

function toProgress(plan: EvaluationPlan, row: CountRow | undefined): Progress {
  const total = plan.tasks * plan.models.length * plan.attempts;
  const outcomes: OutcomeCounts = {};
  for (const outcome of outcomeSchema.options) addTo(outcomes, outcome, row?.[`of_${outcome}`] ?? 0);
  const counted = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const rest = outcomeOfRest(plan);
  if (rest !== undefined) addTo(outcomes, rest, total - counted);
  const isUnknown = (row?.unknown_usd ?? 0) > 0;
  return {
    done: rest === undefined ? counted : Math.max(counted, total),
    total,
    running: row?.running ?? 0,
    reruns: row?.reruns ?? 0,
    outcomes,
    // The calls of attempts that go on are among those that a budget has settled.
    spent: {
      usd: isUnknown ? null : Math.max(row?.usd ?? 0, plan.spent.usd),
      tokens: Math.max(row?.tokens ?? 0, plan.spent.tokens),
    },
  };
}
