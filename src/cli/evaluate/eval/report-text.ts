import type { EvaluationDetail, EvaluationSummary, Report } from '../../../contract/service/evaluation.ts';
import { missingOutcomes, type Outcome } from '../../../contract/service/outcome.ts';
import { cutToWidth, padToWidth } from '../../../support/text/display-width.ts';
import { passRateMeaning, shortfallsOf } from '../../../support/text/evaluation-figures.ts';
import {
  countText,
  durationText,
  grouped,
  meanText,
  moneyText,
  shareText,
  shareWithInterval,
  spreadText,
  tokensText,
  withInterval,
} from '../../../support/text/figures.ts';
import { colors, printable, tableLines } from '../../base/terminal.ts';
import { countValid, describeOutcomes, wayOutOf, wordsOf } from './outcome-words.ts';

/** An example of an attempt without a reward, for one outcome. */
export interface Example {
  readonly outcome: Outcome;
  readonly message: string | null;
  readonly traceUrl: string | null;
}

const MODEL_CELLS = 28;

/**
 * Formats a report: one line for each model, then all figures of each.
 *
 * @param leastCoverage a lower coverage is mentioned beside the status.
 */
export function reportLines(evaluation: EvaluationDetail, leastCoverage?: number): readonly string[] {
  const { reports } = evaluation;
  return [
    ...headLines(evaluation, leastCoverage),
    '',
    ...(reports.length > 1 ? [...summaryTable(reports), ''] : []),
    ...reports.flatMap((report) => [...modelLines(report, evaluation), '']),
  ].slice(0, -1);
}

function headLines(evaluation: EvaluationDetail, leastCoverage?: number): readonly string[] {
  const { evaluation_id, name, status, progress, taskset, attempts } = evaluation;
  const title = name === null ? evaluation_id : `${printable(name)} (${evaluation_id})`;
  const ended = `${grouped(endedOf(evaluation))} of ${grouped(progress.total)} attempts`;
  const shortfalls = shortfallsOf(evaluation, leastCoverage);
  const isWhole = status === 'completed' && shortfalls.length === 0;
  const state = (isWhole ? colors.green : colors.yellow)([status, ...shortfalls].join(', '));
  const times = attempts === 1 ? '' : ` × ${grouped(attempts)} attempts`;
  const named = taskset.name === null ? '' : ` of ${printable(taskset.name)}`;
  const { usd, tokens } = progress.spent;
  const spent = [
    ...(usd === null || (usd === 0 && tokens === 0) ? [] : [moneyText(usd)]),
    ...(tokens === 0 ? [] : [`${tokensText(tokens)} tokens`]),
  ];
  return [
    `${colors.bold(title)}: ${state}${shortfalls.length === 0 ? `, ${ended}` : `; ${ended} have ended`}`,
    `${countText(taskset.tasks, 'task')}${named}${times} × ${countText(evaluation.models.length, 'model')}, version ${taskset.version.slice(0, 12)}${spent.length === 0 ? '' : `; ${spent.join(', ')} spent${SPENT_ON}`}`,
  ];
}

/** Label for the total. The rows of the models count tokens of the agent only, and reruns separately. */
const SPENT_ON = ', with users, judges and reruns';

function summaryTable(reports: readonly Report[]): readonly string[] {
  const rows = [
    ['model', 'mean [95 % interval]', 'pass rate', 'coverage', 'cost'],
    ...reports.map((report) => [
      cutToWidth(printable(report.model), MODEL_CELLS),
      withInterval(report.mean, report.ci95),
      shareText(report.pass_rate.value, report.pass_rate.ci95),
      shareText(report.coverage),
      moneyText(report.cost.total),
    ]),
  ];
  return tableLines(rows).map((line, index) => (index === 0 ? colors.dim(line) : line));
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
    ['missing as 0', meanText(report.mean_missing_as_zero, report.ci95)],
    [
      'pass rate',
      `${shareWithInterval(report.pass_rate.value, report.pass_rate.ci95)}, ${passRateMeaning(report, pass_threshold)}`,
    ],
    passAtRow('pass@k', report.pass_at_k, 'one of k passes'),
    passAtRow('pass^k', report.pass_hat_k, 'all k pass'),
    [
      'outcomes',
      describeOutcomes(report.outcomes) + (report.reruns > 0 ? `; ${countText(report.reruns, 'rerun')}` : ''),
    ],
    // A difference of 0 comes from tasks with equal means and says nothing about other tasks.
    !report.smallest_detectable_difference
      ? undefined
      : ['can tell apart', `models that differ by ${meanText(report.smallest_detectable_difference)} or more`],
    costRow(report),
    timeRow(report),
  ];
  const told = rows.filter((row) => row !== undefined);
  return [
    colors.bold(printable(report.model)),
    ...told.map(([label, text]) => `  ${colors.dim(padToWidth(label, 14))}  ${text}`),
  ];
}

/** Formats pass@k: `1: 58 %  2: 66 %  4: 71 %`. Empty for one attempt per task, where it equals the pass rate. */
function passAtRow(label: string, rates: Report['pass_at_k'], meaning: string): readonly [string, string] | undefined {
  const entries = Object.entries(rates).sort(([a], [b]) => Number(a) - Number(b));
  if (entries.length < 2) return undefined;
  const values = entries.map(([k, { value }]) => `${k}: ${shareText(value)}`);
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
      : [
          `${tokensText(tokens.total)} tokens of the agent (${tokensText(tokens.prompt)} in, ${tokensText(tokens.completion)} out)`,
        ]),
  ];
  return ['cost', parts.join(', ')];
}

/** Shares of user and judge; empty if both cost nothing. */
function sharesOf({ agent, user, judge }: Report['cost']): string {
  if (user === 0 && judge === 0) return '';
  return ` (agent ${moneyText(agent)}, user ${moneyText(user)}, judge ${moneyText(judge)})`;
}

function timeRow({ wall_ms, steps, duration_ms }: Report): readonly [string, string] | undefined {
  if (wall_ms === null) return undefined;
  const each = duration_ms.median === null ? '' : `; an attempt ${spreadText(duration_ms, durationText)}`;
  const stepped = steps.median === null ? '' : `; steps ${spreadText(steps)}`;
  return ['time', `${durationText(wall_ms)} in all${each}${stepped}`];
}

/** Advice for attempts without a reward; empty if all have one. */
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

/** Warns that the code of an environment changed during the evaluation. */
export function hashWarning({ changed_environments: changed }: EvaluationDetail): string | undefined {
  if (changed.length === 0) return undefined;
  return `The code of ${printable(changed.join(', '), 200)} has changed meanwhile: its attempts were not all played with the same version of it.`;
}

/** True if at least one attempt of any model is valid. */
export function hasValidAttempt({ reports }: Pick<EvaluationDetail, 'reports'>): boolean {
  return reports.some(({ outcomes }) => countValid(outcomes) > 0);
}

/** Number of ended attempts; those that a cancelled evaluation stopped are left out. */
function endedOf({ status, progress }: Pick<EvaluationSummary, 'status' | 'progress'>): number {
  return status === 'cancelled' ? progress.done - (progress.outcomes.cancelled ?? 0) : progress.done;
}
