import type { EvaluationDetail, EvaluationSummary, Report } from '../../contract/evaluation.ts';
import type { Outcome } from '../../contract/outcome.ts';
import { cutToWidth, displayWidth, padToWidth } from '../../text/display-width.ts';
import { countText } from '../amounts.ts';
import { colors, printable } from '../terminal.ts';
import {
  grouped,
  moneyText,
  rewardText,
  shareText,
  shareWithInterval,
  spanText,
  tokensText,
  withInterval,
} from './figures.ts';
import { countValid, describeOutcomes, missingOutcomes, wayOutOf, wordsOf } from './outcome-words.ts';

/** An attempt without a reward, of those with the same outcome. */
export interface Example {
  readonly outcome: Outcome;
  readonly message: string | null;
  readonly traceUrl: string | null;
}

const MODEL_CELLS = 28;

/** The result: a line for each model to compare them by, then all figures of each. */
export function reportLines(evaluation: EvaluationDetail): readonly string[] {
  const { reports } = evaluation;
  return [
    ...headLines(evaluation),
    '',
    ...(reports.length > 1 ? [...summaryTable(reports), ''] : []),
    ...reports.flatMap((report) => [...modelLines(report, evaluation), '']),
  ].slice(0, -1);
}

function headLines(evaluation: EvaluationDetail): readonly string[] {
  const { evaluation_id, name, status, progress, taskset, attempts } = evaluation;
  const title = name === null ? evaluation_id : `${printable(name)} (${evaluation_id})`;
  const state = status === 'completed' ? colors.green(status) : colors.yellow(status);
  const times = attempts === 1 ? '' : ` × ${grouped(attempts)} attempts`;
  const named = taskset.name === null ? '' : ` of ${printable(taskset.name)}`;
  const { usd, tokens } = progress.spent;
  const spent = [
    ...(usd === null || (usd === 0 && tokens === 0) ? [] : [moneyText(usd)]),
    ...(tokens === 0 ? [] : [`${tokensText(tokens)} tokens`]),
  ];
  return [
    `${colors.bold(title)}: ${state}, ${grouped(endedOf(evaluation))} of ${grouped(progress.total)} attempts`,
    `${countText(taskset.tasks, 'task')}${named}${times} × ${countText(evaluation.models.length, 'model')}, version ${taskset.version.slice(0, 12)}${spent.length === 0 ? '' : `; ${spent.join(', ')} spent`}`,
  ];
}

function summaryTable(reports: readonly Report[]): readonly string[] {
  const rows = [
    ['model', 'mean [95 % interval]', 'pass rate', 'coverage', 'cost'],
    ...reports.map((report) => [
      cutToWidth(printable(report.model), MODEL_CELLS),
      withInterval(report.mean, report.ci95),
      shareText(report.pass_rate.value),
      shareText(report.coverage),
      moneyText(report.cost.total),
    ]),
  ];
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, displayWidth(cell))),
    [],
  );
  return rows.map((row, index) => {
    const line = row.map((cell, column) => padToWidth(cell, widths[column] ?? 0)).join('  ');
    return index === 0 ? colors.dim(line.trimEnd()) : line.trimEnd();
  });
}

function modelLines(report: Report, { pass_threshold }: EvaluationDetail): readonly string[] {
  const valid = countValid(report.outcomes);
  const coverage = `coverage ${shareText(report.coverage)}`;
  const painted = report.coverage < 1 ? colors.yellow(coverage) : coverage;
  const rows: readonly (readonly [string, string] | undefined)[] = [
    [
      'mean',
      `${colors.bold(withInterval(report.mean, report.ci95))} over ${grouped(valid)} of ${grouped(report.n_attempts)} attempts (${painted})`,
    ],
    ['missing as 0', rewardText(report.mean_missing_as_zero, report.ci95)],
    [
      'pass rate',
      `${shareWithInterval(report.pass_rate.value, report.pass_rate.ci95)}, a reward of at least ${pass_threshold}`,
    ],
    passAtRow('pass@k', report.pass_at_k, 'one of k passes'),
    passAtRow('pass^k', report.pass_hat_k, 'all k pass'),
    [
      'outcomes',
      describeOutcomes(report.outcomes) + (report.reruns > 0 ? `; ${countText(report.reruns, 'rerun')}` : ''),
    ],
    // Where all tasks have one mean it is 0, which says nothing of other tasks.
    !report.smallest_detectable_difference
      ? undefined
      : ['can tell apart', `models that differ by ${rewardText(report.smallest_detectable_difference)} or more`],
    costRow(report),
    timeRow(report),
  ];
  const told = rows.filter((row) => row !== undefined);
  return [
    colors.bold(printable(report.model)),
    ...told.map(([label, text]) => `  ${colors.dim(label.padEnd(14))}  ${text}`),
  ];
}

/** `1: 0.58  2: 0.66  4: 0.71`; nothing where each task has one attempt, since it says what the pass rate says. */
function passAtRow(label: string, rates: Report['pass_at_k'], meaning: string): readonly [string, string] | undefined {
  const entries = Object.entries(rates).sort(([a], [b]) => Number(a) - Number(b));
  if (entries.length < 2) return undefined;
  const values = entries.map(([k, { value }]) => `${k}: ${rewardText(value)}`);
  const leftOut = Math.max(...entries.map(([, rate]) => rate.left_out));
  const note = leftOut === 0 ? '' : `; ${countText(leftOut, 'task')} left out, with fewer than k rewards`;
  return [label, `${values.join('  ')}  (${meaning}${note})`];
}

function costRow({ cost, reruns_cost, tokens }: Report): readonly [string, string] {
  const parts = [
    `${cost.total === null ? 'unknown: the model has no price' : moneyText(cost.total)}${sharesOf(cost)}`,
    ...(reruns_cost === null || reruns_cost === 0 ? [] : [`and ${moneyText(reruns_cost)} for reruns`]),
    ...(tokens.total === 0
      ? []
      : [`${tokensText(tokens.total)} tokens (${tokensText(tokens.prompt)} in, ${tokensText(tokens.completion)} out)`]),
  ];
  return ['cost', parts.join(', ')];
}

/** Nothing where neither a user nor a judge has cost anything. */
function sharesOf({ agent, user, judge }: Report['cost']): string {
  if (user === 0 && judge === 0) return '';
  return ` (agent ${moneyText(agent)}, user ${moneyText(user)}, judge ${moneyText(judge)})`;
}

function timeRow({ wall_ms, steps, duration_ms }: Report): readonly [string, string] | undefined {
  if (wall_ms === null) return undefined;
  const each =
    duration_ms.median === null || duration_ms.p95 === null
      ? ''
      : `; an attempt ${spanText(duration_ms.median)} (median), ${spanText(duration_ms.p95)} (p95)`;
  const stepped =
    steps.median === null || steps.p95 === null
      ? ''
      : `; ${countText(Math.round(steps.median * 10) / 10, 'step')} (median), ${Math.round(steps.p95 * 10) / 10} (p95)`;
  return ['time', `${spanText(wall_ms)} in all${each}${stepped}`];
}

/** Says how to get on with attempts without a reward; empty where all have one. */
export function adviceLines(
  evaluation: EvaluationDetail,
  examples: readonly Example[],
  rerun: string,
): readonly string[] {
  const counts = evaluation.reports.reduce<Partial<Record<Outcome, number>>>((sums, { outcomes }) => {
    for (const outcome of missingOutcomes(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + (outcomes[outcome] ?? 0);
    return sums;
  }, {});
  const missing = missingOutcomes(counts);
  if (missing.length === 0) return [];
  const lines = missing.flatMap((outcome) => {
    const example = examples.find((each) => each.outcome === outcome);
    const count = counts[outcome] ?? 0;
    const message = example?.message ?? null;
    return [
      `${colors.yellow(`${countText(count, 'attempt')} ${wordsOf(outcome)}.`)} ${wayOutOf(outcome) ?? ''}`.trimEnd(),
      ...(message === null ? [] : [`  for example: ${printable(message, 240)}`]),
      ...(example?.traceUrl == null ? [] : [`  ${colors.dim(example.traceUrl)}`]),
    ];
  });
  const suspects = evaluation.suspects.length;
  const died = `The environment of ${countText(suspects, 'attempt')} died during a tool call each time: the agent may have caused it.`;
  const hasRerun = evaluation.status === 'completed' && missing.some((outcome) => outcome !== 'over_budget');
  return [
    ...lines,
    ...(suspects === 0 ? [] : [colors.yellow(died)]),
    ...(hasRerun ? [`To run those without a reward again: ${rerun}`] : []),
  ];
}

/** Code that changed while the evaluation ran. */
export function hashWarning({ changed_environments: changed }: EvaluationDetail): string | undefined {
  if (changed.length === 0) return undefined;
  return `The code of ${printable(changed.join(', '), 200)} has changed meanwhile: its attempts were not all played with the same version of it.`;
}

/** True where some attempt of any model says something about it. */
export function hasValidAttempt({ reports }: Pick<EvaluationDetail, 'reports'>): boolean {
  return reports.some(({ outcomes }) => countValid(outcomes) > 0);
}

/** Attempts that have ended; of a cancelled evaluation those that had before. */
function endedOf({ status, progress }: Pick<EvaluationSummary, 'status' | 'progress'>): number {
  return status === 'cancelled' ? progress.done - (progress.outcomes.cancelled ?? 0) : progress.done;
}
