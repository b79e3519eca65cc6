import { writeFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Comparison, ComparisonList, EvaluationDetail, TaskRow } from '../../../contract/service/evaluation.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import { type GateCode, type GateVerdict, judgeGate } from '../../../evaluation/evaluations/report/judge-gate.ts';
import { DEFAULT_MIN_COVERAGE } from '../../../support/text/evaluation-figures.ts';
import { SilentFailure, UsageError } from '../../base/failure.ts';
import { type Evaluations, evaluationsAt, findEvaluation } from '../../base/find-evaluation.ts';
import { byGrades, gradesOption, parseNumber, parseServiceUrl, parseShare } from '../../base/options.ts';
import { openPlace, type PlaceOptions } from '../../base/place.ts';
import { colors, note, print, printable, printJson } from '../../base/terminal.ts';
import { verdictOf } from './compare.ts';
import { type JunitFailures, toJunit } from './junit.ts';
import { type ChangedTasks, type TaskLink, toMarkdown } from './markdown.ts';

export function addGateCommand(command: Command): void {
  command
    .command('gate <evaluation>')
    .description('Whether an evaluation is good enough: for CI, by its exit code.')
    .option('--min-score <mean>', 'the mean reward has to be at least this', parseNumber)
    .option('--baseline <evaluation>', 'the evaluation to compare it with')
    .option(
      '--max-regression <difference>',
      'the mean may be lower than the baseline by this, 0 or more',
      parseRegression,
    )
    .option(
      '--min-coverage <share>',
      'share of the attempts that need a reward, 0 to 1',
      parseShare,
      DEFAULT_MIN_COVERAGE,
    )
    .option('--model <model>', 'judge this model alone (default: every model)')
    .option('--baseline-model <model>', 'the model of the baseline (default: the one of the same name)')
    .option('--strict', 'an interval that contains the threshold has failed')
    .option('--junit <file>', 'write a JUnit document: a testsuite for each model, a testcase for each task')
    .addOption(
      new Option('--junit-fail <what>', 'what fails in it: each task below its threshold, or each check of the gate')
        .choices(['task', 'gate'] satisfies readonly JunitFailures[])
        .default('task'),
    )
    .option('--markdown <file>', 'write the verdict as Markdown, for a pull request')
    .addOption(gradesOption())
    .option('--service <url>', 'evaluations of this run service, with the key of PROCTOR_API_KEY', parseServiceUrl)
    .option('--json', 'print {"code", "passed", "checks", "warnings", ...}')
    .addHelpText(
      'after',
      `
Evaluations are named by an id, the beginning of one, a name, or "last". Without thresholds it looks at the coverage alone.
A threshold is met when the whole 95 % interval meets it, and missed when the whole interval misses it.
In the JUnit document tasks below their threshold fail, whether the gate is passed or not; with --junit-fail gate only checks of the gate do.

Exit code: 0 when every threshold is met; 1 when one is missed; 2 when the command is wrong, the evaluation has not ended or cannot be read; 3 when the interval contains the threshold; 4 when too few attempts have a reward.

Examples:
  $ proctor eval gate last --min-score 0.8
  $ proctor eval gate pr-17 --baseline main --max-regression 0.02 --markdown gate.md --junit junit.xml
  $ proctor eval gate last --model gpt-5-mini --min-score 0.8 --strict`,
    )
    .action(gate);
}

interface GateOptions extends Pick<PlaceOptions, 'service'> {
  readonly grades?: GradesQuery;
  readonly minScore?: number;
  readonly baseline?: string;
  readonly maxRegression?: number;
  readonly minCoverage: number;
  readonly model?: string;
  readonly baselineModel?: string;
  readonly strict?: boolean;
  readonly junit?: string;
  readonly junitFail: JunitFailures;
  readonly markdown?: string;
  readonly json?: boolean;
}

interface GateDecision {
  readonly verdict: GateVerdict;
  readonly evaluation: EvaluationDetail;
  readonly baseline: EvaluationDetail | undefined;
  readonly comparisons: ComparisonList | undefined;
}

/** An error gives exit code 2, since 1 means that the evaluation is not good enough. */
async function gate(named: string, options: GateOptions): Promise<void> {
  let code: GateCode;
  try {
    code = await judgeAndTell(named, options);
  } catch (cause) {
    throw new SilentFailure(2, cause);
  }
  if (code !== 0) throw new SilentFailure(code);
}

async function judgeAndTell(named: string, options: GateOptions): Promise<GateCode> {
  checkOptions(options);
  await using place = await openPlace({ service: options.service });
  const evaluations = evaluationsAt(place);
  const judged = await judge(named, options, evaluations);
  const { verdict, evaluation } = judged;
  if (options.junit !== undefined) await writeJunit(options.junit, judged, options, evaluations);
  if (options.markdown !== undefined) await writeMarkdown(options.markdown, judged, options, evaluations);
  if (options.json) {
    const { evaluation_id, evaluation_url } = evaluation;
    const baseline_id = judged.baseline?.evaluation_id ?? null;
    const comparisons = judged.comparisons?.comparisons ?? [];
    printJson({ evaluation_id, evaluation_url, baseline_id, passed: verdict.code === 0, ...verdict, comparisons });
  } else tell(judged);
  return verdict.code;
}

function checkOptions({ baseline, maxRegression, baselineModel }: GateOptions): void {
  if (baseline !== undefined) return;
  const needs = 'needs --baseline, the evaluation to compare with.';
  if (maxRegression !== undefined) throw new UsageError(`--max-regression ${needs}`);
  if (baselineModel !== undefined) throw new UsageError(`--baseline-model ${needs}`);
}

async function judge(named: string, options: GateOptions, evaluations: Evaluations): Promise<GateDecision> {
  const { client } = evaluations;
  const by = byGrades(options.grades);
  const { model, minScore, maxRegression, minCoverage, strict } = options;
  const evaluation = await client.get(await findEvaluation(named, evaluations), by);
  if (model !== undefined) checkModel('--model', model, evaluation);
  const baseline =
    options.baseline === undefined
      ? undefined
      : await client.get(await findEvaluation(options.baseline, evaluations), by);
  const comparisons = baseline && (await compareWith(baseline, evaluation, options, client));
  const verdict = judgeGate({
    evaluation,
    comparison: comparisons,
    model,
    minScore,
    maxRegression,
    minCoverage,
    isStrict: strict,
  });
  return { verdict, evaluation, baseline, comparisons };
}

function checkModel(option: string, model: string, { models, evaluation_id }: EvaluationDetail): void {
  if (models.includes(model)) return;
  const listed = models.map((each) => printable(each, 60)).join(', ');
  throw new UsageError(`${option}: ${evaluation_id} has no model ${JSON.stringify(printable(model, 80))} (${listed}).`);
}

/** Compares a model with the same model of the baseline, or with the baseline's only model. */
async function compareWith(
  baseline: EvaluationDetail,
  evaluation: EvaluationDetail,
  { model, baselineModel, grades }: GateOptions,
  client: Evaluations['client'],
): Promise<ComparisonList> {
  const pair = { a: baseline.evaluation_id, b: evaluation.evaluation_id, ...byGrades(grades) };
  if (baselineModel !== undefined) checkModel('--baseline-model', baselineModel, baseline);
  if (model === undefined && baselineModel === undefined) return await client.compare(pair);
  const [only, ...others] = evaluation.models;
  const b_model = model ?? (others.length === 0 ? only : undefined);
  if (b_model === undefined) throw new UsageError('--baseline-model needs --model, since the evaluation has several.');
  const [first, ...more] = baseline.models;
  const same = baseline.models.includes(b_model) ? b_model : undefined;
  const a_model = baselineModel ?? same ?? (more.length === 0 ? first : undefined);
  if (a_model === undefined) {
    throw new UsageError(`The baseline has several models and none of this name: choose one with --baseline-model.`);
  }
  return await client.compare({ ...pair, a_model, b_model });
}

const HEADLINES: Readonly<Record<GateCode, (text: string) => string>> = {
  0: colors.green,
  1: colors.red,
  2: colors.yellow,
  3: colors.yellow,
  4: colors.yellow,
};
const WORDS: Readonly<Record<GateCode, string>> = {
  0: 'Passed',
  1: 'Failed',
  2: 'Cannot be judged',
  3: 'Inconclusive',
  4: 'Too much is missing',
};
const MARKS: Readonly<Record<GateCode, string>> = { 0: 'ok  ', 1: 'FAIL', 2: '?   ', 3: '?   ', 4: 'FAIL' };

function tell({ verdict, evaluation, baseline, comparisons }: GateDecision): void {
  const paint = HEADLINES[verdict.code];
  print(`${paint(colors.bold(WORDS[verdict.code]))}: ${printable(evaluation.name ?? evaluation.evaluation_id)}`);
  for (const { code, sentence } of verdict.checks)
    print(`  ${HEADLINES[code](MARKS[code])}  ${printable(sentence, 400)}`);
  if (baseline !== undefined) {
    for (const comparison of comparisons?.comparisons ?? [])
      print(`        ${verdictOf(comparison, baseline, evaluation)}`);
  }
  for (const warning of verdict.warnings) note(colors.yellow(printable(warning, 400)));
  note(colors.dim(evaluation.evaluation_url));
}

async function writeJunit(
  file: string,
  { evaluation, verdict }: GateDecision,
  { model, grades, junitFail }: GateOptions,
  { client }: Evaluations,
): Promise<void> {
  const rows: TaskRow[] = [];
  const query = { limit: 1_000, ...byGrades(grades), ...(model === undefined ? {} : { model }) };
  for await (const row of client.allTasks(evaluation.evaluation_id, query)) rows.push(row);
  await writeFile(file, toJunit({ evaluation, rows, checks: verdict.checks, failures: junitFail }));
}

/** Most tasks of each kind that a comment links. */
const MAX_LINKED = 10;

async function writeMarkdown(
  file: string,
  { verdict, evaluation, baseline, comparisons }: GateDecision,
  { model }: GateOptions,
  { client }: Evaluations,
): Promise<void> {
  const changed: ChangedTasks[] = [];
  for (const comparison of baseline === undefined ? [] : (comparisons?.comparisons ?? [])) {
    const linksOf = (ids: readonly string[]) =>
      linkTasks(ids.slice(0, MAX_LINKED), comparison, { baseline, evaluation }, client);
    changed.push({ comparison, won: await linksOf(comparison.won), lost: await linksOf(comparison.lost) });
  }
  const reports = evaluation.reports.filter((report) => model === undefined || report.model === model);
  await writeFile(file, toMarkdown({ verdict, evaluation, reports, baseline, comparisons, changed }));
}

async function linkTasks(
  ids: readonly string[],
  { a_model, b_model }: Comparison,
  { baseline, evaluation }: { readonly baseline: EvaluationDetail | undefined; readonly evaluation: EvaluationDetail },
  client: Evaluations['client'],
): Promise<readonly TaskLink[]> {
  const urlOf = async (id: string | undefined, task_id: string, model: string) => {
    if (id === undefined) return null;
    const { data } = await client.attempts(id, { task_id, model, limit: 10 });
    return data.find(({ trace_url }) => trace_url !== null)?.trace_url ?? null;
  };
  const links: TaskLink[] = [];
  for (const taskId of ids) {
    links.push({
      taskId,
      aUrl: await urlOf(baseline?.evaluation_id, taskId, a_model),
      bUrl: await urlOf(evaluation.evaluation_id, taskId, b_model),
    });
  }
  return links;
}

function parseRegression(text: string): number {
  const difference = parseNumber(text);
  if (difference >= 0) return difference;
  throw new InvalidArgumentError('It has to be 0 or more, such as 0.02.');
}
