import type { Command } from 'commander';
import type { EvaluationDetail, TaskRow } from '../../../contract/service/evaluation.ts';
import { missingOutcomes } from '../../../contract/service/outcome.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import { meanText, shareText } from '../../../support/text/figures.ts';
import { sortNaturally } from '../../../support/text/natural-order.ts';
import { type Evaluations, evaluationsAt, findEvaluation, placeWords } from '../../base/find-evaluation.ts';
import { byGrades, gradesOption, parseServiceUrl } from '../../base/options.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { colors, note, print, printable, printJson, printTable } from '../../base/terminal.ts';
import { describeOutcomes } from './outcome-words.ts';
import { adviceLines, type Example, hashWarning, reportLines } from './report-text.ts';

export function addShowCommand(command: Command): void {
  command
    .command('show <evaluation>')
    .description('Show the report of an evaluation.')
    .option('--tasks', 'show every task with every model too, the worst first')
    .addOption(gradesOption())
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print the evaluation with its reports, as GET /v1/evaluations/{id} answers')
    .addHelpText(
      'after',
      `
The evaluation is an id, the beginning of one, a name, or "last".

Examples:
  $ proctor eval show last
  $ proctor eval show nightly --tasks
  $ proctor eval show eval_3f2a --json`,
    )
    .action(show);
}

interface ShowOptions extends Pick<PlaceOptions, 'service'> {
  readonly tasks?: boolean;
  readonly grades?: GradesQuery;
  readonly json?: boolean;
}

async function show(named: string, { tasks = false, json = false, grades, service }: ShowOptions): Promise<void> {
  await using place = await openPlace({ service });
  const evaluations = evaluationsAt(place);
  const evaluation = await evaluations.client.get(await findEvaluation(named, evaluations), byGrades(grades));
  const rows = tasks ? await worstFirst(evaluation, evaluations, grades) : undefined;
  if (json) return printJson(rows === undefined ? evaluation : { ...evaluation, task_rows: rows });
  await tellReport(evaluation, evaluations);
  if (rows !== undefined) printTasks(rows);
}

async function worstFirst(
  { evaluation_id }: EvaluationDetail,
  { client }: Evaluations,
  grades: GradesQuery | undefined,
): Promise<readonly TaskRow[]> {
  const rows: TaskRow[] = [];
  for await (const row of client.allTasks(evaluation_id, { limit: 1_000, ...byGrades(grades) })) rows.push(row);
  const meanOf = ({ mean }: TaskRow) => mean ?? Number.NEGATIVE_INFINITY;
  return [...sortNaturally(rows, ({ task_id }) => task_id)].sort((a, b) => meanOf(a) - meanOf(b));
}

function printTasks(rows: readonly TaskRow[]): void {
  print();
  printTable([
    ['TASK', 'MODEL', 'MEAN', 'PASSED', 'OUTCOMES'],
    ...rows.map(({ task_id, model, mean, pass_rate, outcomes }) => [
      printable(task_id, 48),
      printable(model, 28),
      meanText(mean),
      shareText(pass_rate),
      describeOutcomes(outcomes),
    ]),
  ]);
}

/** Prints the report on standard output, and notes and advice on standard error. */
export async function tellReport(
  evaluation: EvaluationDetail,
  evaluations: Evaluations,
  leastCoverage?: number,
): Promise<void> {
  for (const line of reportLines(evaluation, leastCoverage)) print(line);
  const examples = await readExamples(evaluation, evaluations);
  const place = placeWords(evaluations);
  const advice = adviceLines(evaluation, examples, `proctor eval rerun ${evaluation.evaluation_id}${place}`);
  if (advice.length > 0) note('');
  for (const line of advice) note(line);
  const warning = hashWarning(evaluation);
  if (warning !== undefined) note(colors.yellow(warning));
}

/** Reads one attempt for each outcome without a reward, since one example tells more than a count. */
async function readExamples(evaluation: EvaluationDetail, { client }: Evaluations): Promise<readonly Example[]> {
  const outcomes = new Set(evaluation.reports.flatMap((report) => missingOutcomes(report.outcomes)));
  const examples: Example[] = [];
  for (const outcome of outcomes) {
    if (outcome === 'cancelled' || outcome === 'over_budget') continue;
    const [attempt] = (await client.attempts(evaluation.evaluation_id, { outcome, limit: 1 })).data;
    if (attempt === undefined) continue;
    examples.push({ outcome, message: attempt.error?.message ?? null, traceUrl: attempt.trace_url });
  }
  return examples;
}
