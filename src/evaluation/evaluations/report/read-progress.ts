import { sql } from 'kysely';
import type { Progress } from '../../../contract/service/evaluation.ts';
import { type OutcomeCounts, outcomeSchema } from '../../../contract/service/outcome.ts';
import type { Database } from '../../../store/database/database.ts';
import { withoutRounding } from '../../../support/text/figures.ts';
import { type EvaluationPlan, outcomeOfRest, readPlan } from '../evaluation-plan.ts';
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

/** Counts in one pass without sorting, because grouping by outcome takes twice as long. */
async function countAttempts({ scans }: Database, plan: EvaluationPlan): Promise<Progress> {
  const queued = await countQueued(scans, plan.evaluationId);
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
  return toProgress(plan, rows[0], queued);
}

/** Attempts that no worker has taken yet. Only a few are open at once, and an index finds them. */
async function countQueued(scans: Database['scans'], evaluationId: string): Promise<number> {
  const { count } = await scans
    .selectFrom('evaluation_attempts as attempt')
    .innerJoin('traces', 'traces.trace_id', 'attempt.trace_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('attempt.evaluation_id', '=', evaluationId)
    .where(sql<boolean>`attempt.state <> 'done'`)
    .where('attempt.state', '=', 'running')
    .where('traces.status', '=', 'queued')
    .executeTakeFirstOrThrow();
  return Number(count);
}

function countOf(condition: ReturnType<typeof sql>) {
  return sql`count(case when ${condition} then 1 end)`;
}

function toProgress(plan: EvaluationPlan, row: CountRow | undefined, queuedRuns: number): Progress {
  const total = plan.tasks * plan.models.length * plan.attempts;
  const outcomes: OutcomeCounts = {};
  for (const outcome of outcomeSchema.options) addTo(outcomes, outcome, row?.[`of_${outcome}`] ?? 0);
  const counted = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const rest = outcomeOfRest(plan);
  if (rest !== undefined) addTo(outcomes, rest, total - counted);
  const open = row?.running ?? 0;
  const queued = Math.min(open, queuedRuns);
  const isUnknown = (row?.unknown_usd ?? 0) > 0;
  return {
    done: rest === undefined ? counted : Math.max(counted, total),
    total,
    running: open - queued,
    queued,
    reruns: row?.reruns ?? 0,
    outcomes,
    // A budget includes the calls of running attempts, too.
    spent: {
      usd: isUnknown ? null : withoutRounding(Math.max(row?.usd ?? 0, plan.spent.usd)),
      tokens: Math.max(row?.tokens ?? 0, plan.spent.tokens),
    },
  };
}
