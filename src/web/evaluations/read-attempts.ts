import { sql } from 'kysely';
import { outcomeSchema } from '../../contract/service/outcome.ts';
import type { GradesQuery } from '../../contract/service/replay.ts';
import { type EvaluationPlan, outcomeOfRest } from '../../evaluation/evaluations/evaluation-plan.ts';
import { resultColumns } from '../../evaluation/evaluations/report/read-cells.ts';
import type { Database } from '../../store/database/database.ts';
import { CELL_LETTERS, CELL_STATES } from './evaluation-data.ts';
import { stateCode, type TaskCells, toTaskCells } from './task-cells.ts';

/** Attempts, or ids of tasks, that one text holds: other requests are answered between two. */
const ATTEMPTS_OF_A_TEXT = 10_000;
const IDS_OF_A_TEXT = 10_000;
/** So many attempts are read in some milliseconds: a thread of its own would cost more. */
const FEW_ATTEMPTS = 10_000;

/** Attempts that are queued, run or wait to be run again. There are no more of them than run at once. */
export async function countOpen({ kysely }: Database, evaluationId: string): Promise<number> {
  const { count } = await kysely
    .selectFrom('evaluation_attempts')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('evaluation_id', '=', evaluationId)
    .where('state', '<>', 'done')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Ids in the order of the tasks. */
export async function readTaskIds(database: Database, { evaluationId, tasks }: EvaluationPlan): Promise<string[]> {
  // No id has a control character.
  const { rows } = await sql<{ text: string }>`
    select string_agg(task_index || ' ' || task_id, ${sql.lit('\n')}) as text from evaluation_tasks
    where evaluation_id = ${evaluationId} group by task_index / ${sql.lit(IDS_OF_A_TEXT)}`.execute(
    queriesFor(database, tasks),
  );
  const ids = new Array<string>(tasks).fill('');
  for (const { text } of rows) {
    for (const entry of text.split('\n')) {
      const space = entry.indexOf(' ');
      ids[Number(entry.slice(0, space))] = entry.slice(space + 1);
    }
  }
  return ids;
}

/** All attempts of an evaluation, in about a tenth of a second for 100,000 of them. Those without a row have not begun. */
export async function readAttempts(
  database: Database,
  plan: EvaluationPlan,
  taskIds: readonly string[],
  grades: GradesQuery = 'recorded',
): Promise<TaskCells> {
  const { models, attempts, passThreshold } = plan;
  const size = taskIds.length * models.length * attempts;
  const states = new Uint8Array(size).fill(stateCode(outcomeOfRest(plan) ?? 'none'));
  const rewards = new Float64Array(size).fill(Number.NaN);
  const tasks = Math.max(1, Math.floor(ATTEMPTS_OF_A_TEXT / (models.length * attempts)));
  for (let from = 0; from < taskIds.length; from += tasks) {
    // As one text: a row for each attempt costs five times as much.
    const { rows } = await sql<{ text: string | null }>`
      select string_agg(${cellText(grades)}, ',') as text from evaluation_attempts
      where evaluation_id = ${plan.evaluationId} and task_index >= ${from} and task_index < ${from + tasks}`.execute(
      queriesFor(database, size),
    );
    for (const entry of rows[0]?.text?.split(',') ?? []) {
      const [task, model, attempt, letter = '', reward = ''] = entry.split(' ');
      if (Number(attempt) > attempts) continue;
      const at = (Number(task) * models.length + Number(model)) * attempts + Number(attempt) - 1;
      states[at] = CODE_OF[letter] ?? stateCode('none');
      if (reward !== '') rewards[at] = Number(reward);
    }
  }
  return toTaskCells({ taskIds, models, attempts, passThreshold, states, rewards });
}

function queriesFor({ kysely, scans }: Database, rows: number) {
  return rows <= FEW_ATTEMPTS ? kysely : scans;
}

const CODE_OF: Readonly<Record<string, number>> = Object.fromEntries(
  CELL_STATES.map((state, code) => [CELL_LETTERS[state], code]),
);

/** `<task> <model> <attempt> <letter> <reward>` of an attempt: those of its run, or of its newest grade. */
function cellText(grades: GradesQuery) {
  const { outcome, reward } = resultColumns(grades);
  return sql`task_index || ' ' || model_index || ' ' || attempt_index || ' ' || case state ${sql.join(
    (['running', 'waiting'] as const).map((state) => sql`when ${sql.lit(state)} then ${sql.lit(CELL_LETTERS[state])}`),
    sql` `,
  )} else case ${outcome} ${sql.join(
    outcomeSchema.options.map((outcome) => sql`when ${sql.lit(outcome)} then ${sql.lit(CELL_LETTERS[outcome])}`),
    sql` `,
  )} else '.' end end || ' ' || case when state = 'done' and ${reward} is not null then cast(${reward} as text) else '' end`;
}
