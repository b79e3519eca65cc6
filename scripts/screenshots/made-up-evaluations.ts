import type { Database } from '../../src/store/database/database.ts';
import { addEvaluation, chanceOf, type MadeUpAttempt } from '../../test/web/evaluations.ts';

const HOUR_MS = 3_600_000;
const MODELS = ['claude-sonnet-5', 'gpt-5-mini', 'qwen3-8b'] as const;
/** How likely a task of middling difficulty is solved, by model. */
const SHARES = [0.72, 0.64, 0.38] as const;
const KINDS = ['refund', 'exchange', 'cancel-order', 'new-address', 'late-parcel'] as const;
const TASKS = Array.from(
  { length: 200 },
  (_, index) => `${KINDS[index % KINDS.length]}-${String(index + 1).padStart(3, '0')}`,
);

/** Evaluations for the pages that show them: two to be compared, one that runs and one that was paused. */
export async function addMadeUpEvaluations(
  database: Database,
  now: number,
): Promise<{ readonly evaluation: string; readonly nextEvaluation: string }> {
  const common = { tasksetName: 'retail/task', taskIds: TASKS, models: MODELS, attempts: 4 };
  const evaluation = await addEvaluation(database, {
    ...common,
    name: 'nightly, prompt 7',
    createdAt: now - 26 * HOUR_MS,
    attempt: (task, model, attempt) => play(task, model, attempt),
  });
  const nextEvaluation = await addEvaluation(database, {
    ...common,
    name: 'nightly, prompt 8',
    createdAt: now - 2 * HOUR_MS,
    attempt: (task, model, attempt) => playBetter(task, model, attempt),
  });
  await addEvaluation(database, {
    ...common,
    name: 'workspace repairs',
    tasksetName: 'workspace/repair',
    taskIds: TASKS.slice(0, 40),
    status: 'paused',
    budgetUsd: 20,
    createdAt: now - 0.6 * HOUR_MS,
    attempt: (task, model, attempt) => (attempt < 3 ? play(task + 300, model, attempt) : undefined),
  });
  await addEvaluation(database, {
    ...common,
    name: 'pull request 218',
    taskIds: TASKS.slice(0, 60),
    status: 'running',
    createdAt: now - 0.1 * HOUR_MS,
    attempt: (task, model, attempt) => {
      if (attempt > 2 || (attempt === 2 && task > 34)) return undefined;
      return attempt === 2 && task > 23 ? { state: 'running' } : play(task + 500, model, attempt);
    },
  });
  return { evaluation, nextEvaluation };
}

function play(task: number, model: number, attempt: number): MadeUpAttempt {
  const end = chanceOf('end', task, model, attempt);
  if (end < 0.01) return { outcome: 'model_error', rerun: 3 };
  if (end < 0.015) return { outcome: 'grader_error', rerun: 3 };
  const share = (SHARES[model] ?? 0) + (0.5 - chanceOf('task', task)) * 0.9;
  const luck = chanceOf('luck', task, model, attempt);
  if (end > 0.97) return { outcome: 'limit', reward: luck < share / 2 ? 0.5 : 0 };
  if (end > 0.96) return { outcome: 'refused', reward: 0 };
  if (luck < share) return { outcome: 'graded', reward: 1 };
  return { outcome: 'graded', reward: luck < share + 0.1 ? Math.ceil(chanceOf('part', task, attempt) * 9) / 10 : 0 };
}

/** Some of what failed is solved now, and a little of what was solved is not. */
function playBetter(task: number, model: number, attempt: number): MadeUpAttempt {
  const before = play(task, model, attempt);
  if (before === undefined || !('outcome' in before) || before.outcome !== 'graded') return before;
  const change = chanceOf('change', task, model, attempt);
  if (before.reward !== 1 && change < 0.14) return { outcome: 'graded', reward: 1 };
  return before.reward === 1 && change < 0.02 ? { outcome: 'graded', reward: 0 } : before;
}
