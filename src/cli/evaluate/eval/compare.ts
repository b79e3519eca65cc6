import type { Command } from 'commander';
import type { Comparison, ComparisonList, EvaluationDetail } from '../../../contract/service/evaluation.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import { padToWidth } from '../../../support/text/display-width.ts';
import {
  countText,
  differenceText,
  grouped,
  meanText,
  moneyText,
  probabilityText,
  signedText,
} from '../../../support/text/figures.ts';
import { sortNaturally } from '../../../support/text/natural-order.ts';
import { evaluationsAt, findEvaluation } from '../../base/find-evaluation.ts';
import { byGrades, gradesOption, parseServiceUrl } from '../../base/options.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { colors, note, print, printable, printJson } from '../../base/terminal.ts';

export function addCompareCommand(command: Command): void {
  command
    .command('compare <a> [b]')
    .description('Whether B is better than A: a paired comparison on the tasks that both have.')
    .option('--a-model <model>', 'the model of A')
    .option('--b-model <model>', 'the model of B')
    .addOption(gradesOption())
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print {"comparisons", "warnings", ...}, as GET /v1/evaluations/compare answers')
    .addHelpText(
      'after',
      `
A and B are ids, beginnings of ids, names, or "last". Without B it compares two models of A: name them.
Differences are B minus A. Without models it compares those of equal names, or one with one.

Exit code: 0; 1 when the evaluations cannot be read; 2 when the command is wrong.

Examples:
  $ proctor eval compare main pr-17
  $ proctor eval compare last --a-model gpt-5-mini --b-model gpt-5
  $ proctor eval compare eval_3f2a eval_9c01 --json`,
    )
    .action(compare);
}

interface CompareOptions extends Pick<PlaceOptions, 'service'> {
  readonly aModel?: string;
  readonly bModel?: string;
  readonly grades?: GradesQuery;
  readonly json?: boolean;
}

async function compare(named: string, other: string | undefined, options: CompareOptions): Promise<void> {
  await using place = await openPlace({ service: options.service });
  const evaluations = evaluationsAt(place);
  const a = await findEvaluation(named, evaluations);
  const b = other === undefined ? a : await findEvaluation(other, evaluations);
  const { client } = evaluations;
  const compared = await client.compare({
    a,
    b,
    ...(options.aModel === undefined ? {} : { a_model: options.aModel }),
    ...(options.bModel === undefined ? {} : { b_model: options.bModel }),
    ...byGrades(options.grades),
  });
  if (options.json) return printJson(compared);
  const first = await client.get(a);
  const second = a === b ? first : await client.get(b);
  for (const [index, line] of comparisonLines(compared, first, second).entries()) {
    if (index === 0 || line !== undefined) print(line);
  }
  for (const warning of compared.warnings) note(colors.yellow(printable(warning, 400)));
  note(colors.dim(pageOf(second, compared, options.grades)));
}

/** Most tasks that a comparison lists. */
const MAX_SHOWN = 10;

/** The verdict, then its figures. */
function comparisonLines({ comparisons }: ComparisonList, a: EvaluationDetail, b: EvaluationDetail): readonly string[] {
  return comparisons.flatMap((comparison, index) => [
    ...(index === 0 ? [] : ['']),
    ...linesOf(comparison, a, b, comparisons.length),
  ]);
}

function linesOf(comparison: Comparison, a: EvaluationDetail, b: EvaluationDetail, tests: number): readonly string[] {
  const { a_mean, b_mean, smallest_detectable_difference: smallest, ci95 } = comparison;
  const costs = [costOf(a, comparison.a_model), costOf(b, comparison.b_model)];
  const rows: readonly (readonly [string, string] | undefined)[] = [
    ['A', `${meanText(a_mean, ci95)}  ${sideName(a, comparison.a_model)}`],
    ['B', `${meanText(b_mean, ci95)}  ${sideName(b, comparison.b_model)}`],
    ['difference', `${differenceText(comparison.difference, ci95)} (B minus A, 95 % interval)`],
    ['p value', describeTest(comparison, tests)],
    smallest === null ? undefined : ['could see', `a difference of ${meanText(smallest)} or more`],
    costs.every((cost) => cost === null)
      ? undefined
      : ['cost', `A ${moneyText(costs[0] ?? null)}, B ${moneyText(costs[1] ?? null)}`],
    taskRow('lost', comparison.lost, comparison.lost_count),
    taskRow('won', comparison.won, comparison.won_count),
    taskRow('only in A', comparison.only_a, comparison.only_a_count),
    taskRow('only in B', comparison.only_b, comparison.only_b_count),
    taskRow('changed', comparison.changed, comparison.changed_count),
  ];
  return [
    colors.bold(verdictOf(comparison, a, b)),
    ...rows
      .filter((row) => row !== undefined)
      .map(([label, text]) => `  ${colors.dim(padToWidth(label, 10))}  ${text}`),
  ];
}

/** Verdict: `B (gpt-5) is better than A (gpt-5-mini) by 0.06 [0.02, 0.10]: 14 tasks won, 5 lost, 181 tied`. */
export function verdictOf(comparison: Comparison, a: EvaluationDetail, b: EvaluationDetail): string {
  const names = namesOf(comparison, a, b);
  return `${modelOf(comparison, a, b)}${sentenceOf(comparison, names)}`;
}

/** Prefix `gpt-5: ` if both sides have the same model and an evaluation has several. */
function modelOf({ a_model, b_model }: Comparison, a: EvaluationDetail, b: EvaluationDetail): string {
  const hasSeveral = a.models.length > 1 || b.models.length > 1;
  return a_model === b_model && hasSeveral ? `${printable(b_model, 60)}: ` : '';
}

function sentenceOf(comparison: Comparison, names: { readonly a: string; readonly b: string }): string {
  const { difference, ci95, won_count, lost_count, tied_count } = comparison;
  const tally = `${countText(won_count, 'task')} won, ${grouped(lost_count)} lost, ${grouped(tied_count)} tied`;
  if (difference === null) return `${names.b} and ${names.a} have no task in common that can be compared`;
  if (ci95 === null) {
    return `${names.b} differs from ${names.a} by ${signedText(difference)}, from too few tasks for an interval: ${tally}`;
  }
  const [low, high] = ci95;
  const size = `${meanText(Math.abs(difference), ci95)} [${(difference < 0 ? [-high, -low] : [low, high]).map((end) => meanText(end, ci95)).join(', ')}]`;
  if (difference === 0 && low === 0 && high === 0) return `${names.b} and ${names.a} are equal on every task: ${tally}`;
  if (low > 0 || high < 0) {
    return `${names.b} is ${difference > 0 ? 'better' : 'worse'} than ${names.a} by ${size}: ${tally}`;
  }
  return `No difference can be told between ${names.b} and ${names.a}: ${differenceText(difference, ci95)}; ${tally}`;
}

/** Names of both sides: the models if they differ, otherwise the evaluations. */
function namesOf({ a_model, b_model }: Comparison, a: EvaluationDetail, b: EvaluationDetail) {
  if (a_model !== b_model) return { a: `A (${printable(a_model, 60)})`, b: `B (${printable(b_model, 60)})` };
  const nameOf = ({ name, evaluation_id }: EvaluationDetail) => printable(name ?? evaluation_id.slice(0, 13), 60);
  return nameOf(a) === nameOf(b) ? { a: 'A', b: 'B' } : { a: `A (${nameOf(a)})`, b: `B (${nameOf(b)})` };
}

function sideName({ name, evaluation_id }: EvaluationDetail, model: string): string {
  return `${printable(model, 60)} in ${name === null ? evaluation_id : `${printable(name, 60)} (${evaluation_id})`}`;
}

function describeTest({ p_value, p_holm, test, n_tasks }: Comparison, tests: number): string {
  const name = test === 'mcnemar' ? "McNemar's exact test" : 'paired t test';
  const holm = tests > 1 && p_holm !== null ? `; ${probabilityText(p_holm)} corrected for ${tests} comparisons` : '';
  return `${probabilityText(p_value)}${holm} (${name}, ${countText(n_tasks, 'task')})`;
}

function costOf({ reports }: EvaluationDetail, model: string): number | null {
  return reports.find((report) => report.model === model)?.cost.total ?? null;
}

function taskRow(label: string, ids: readonly string[], total: number): readonly [string, string] | undefined {
  if (total === 0) return undefined;
  const shown = sortNaturally(ids, (id) => id)
    .slice(0, MAX_SHOWN)
    .map((id) => printable(id, 60));
  const more = total > shown.length ? `, and ${grouped(total - shown.length)} more` : '';
  return [label, `${shown.join(', ')}${more}`];
}

function pageOf(
  { evaluation_url, evaluation_id }: EvaluationDetail,
  { a, b, comparisons }: ComparisonList,
  grades: GradesQuery | undefined,
): string {
  const url = new URL(evaluation_url);
  url.pathname = url.pathname.replace(`/${evaluation_id}`, '/compare');
  url.searchParams.set('a', a);
  url.searchParams.set('b', b);
  if (grades === 'current') url.searchParams.set('grades', grades);
  const [only, ...others] = comparisons;
  if (only !== undefined && others.length === 0 && only.a_model !== only.b_model) {
    url.searchParams.set('a_model', only.a_model);
    url.searchParams.set('b_model', only.b_model);
  }
  return url.href;
}
