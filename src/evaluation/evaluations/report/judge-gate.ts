import type { ComparisonList, EvaluationStatus, Report } from '../../../contract/service/evaluation.ts';
import { coverageText, DEFAULT_MIN_COVERAGE, isCovered } from '../../../support/text/evaluation-figures.ts';
import { meanBeside, shareBeside, shareText, thresholdText } from '../../../support/text/figures.ts';

/**
 * 0: passed. 1: failed. 2: cannot be judged. 3: the interval contains the threshold. 4: too many attempts are missing.
 */
export type GateCode = 0 | 1 | 2 | 3 | 4;

export interface GateInput {
  readonly evaluation: {
    readonly status: EvaluationStatus;
    readonly reports: readonly Report[];
    /** Environments whose code was not the same for all attempts. */
    readonly changed_environments?: readonly string[];
  };
  /** Comparison with the baseline as a and the evaluation as b. */
  readonly comparison?: ComparisonList | undefined;
  /** The model to judge; absent: all. */
  readonly model?: string | undefined;
  /** Least `mean` that passes. */
  readonly minScore?: number | undefined;
  /** Most by which the mean may be lower than the baseline's, 0 or more. Needs `comparison`. */
  readonly maxRegression?: number | undefined;
  /** 0 to 1, default 0.9. */
  readonly minCoverage?: number | undefined;
  /** True counts an inconclusive result as failed. */
  readonly isStrict?: boolean | undefined;
}

export interface GateCheck {
  /** Null for the evaluation as a whole. */
  readonly model: string | null;
  readonly check: 'ended' | 'coverage' | 'score' | 'regression';
  readonly code: GateCode;
  /** One sentence for people, such as `m: the mean 0.84 [0.81, 0.87] is at least 0.8.` */
  readonly sentence: string;
}

export interface GateVerdict {
  /** The exit code: the worst of all checks, in the order 2, 4, 1, 3, 0. */
  readonly code: GateCode;
  readonly checks: readonly GateCheck[];
  /** Reasons why the verdict may be unreliable. */
  readonly warnings: readonly string[];
}

const FROM_THE_WORST: readonly GateCode[] = [2, 4, 1, 3, 0];

/** Tolerance for rounding, so that 0.1 + 0.2 equals 0.3. */
const ROUNDING = 1e-9;

/** Whether an evaluation is good enough (contract section 7, "Gate"). */
export function judgeGate(input: GateInput): GateVerdict {
  const checks = [...checksOf(input)].map((check) => (input.isStrict === true ? strictly(check) : check));
  const code = FROM_THE_WORST.find((each) => checks.some((check) => check.code === each)) ?? 0;
  return { code, checks, warnings: [...changedCode(input), ...(input.comparison?.warnings ?? [])] };
}

function changedCode({ evaluation: { changed_environments: changed = [] } }: GateInput): readonly string[] {
  if (changed.length === 0) return [];
  return [
    `The code of ${changed.join(', ')} was not the same for all attempts: the mean is of several versions of it.`,
  ];
}

function* checksOf(input: GateInput): Generator<GateCheck> {
  const { evaluation, model } = input;
  const reports = evaluation.reports.filter((report) => model === undefined || report.model === model);
  if (evaluation.status === 'running' || evaluation.status === 'paused') {
    const sentence = `The evaluation is ${evaluation.status}: judge it when it has ended.`;
    yield { model: null, check: 'ended', code: 2, sentence };
  }
  if (reports.length === 0) {
    const known = evaluation.reports.map((report) => report.model).join(', ');
    const sentence = `There is no model ${JSON.stringify(model ?? '')} in the evaluation; there are ${known || 'none'}.`;
    yield { model: model ?? null, check: 'coverage', code: 2, sentence };
  }
  for (const report of reports) {
    yield judgeCoverage(report, input.minCoverage ?? DEFAULT_MIN_COVERAGE);
    if (input.minScore !== undefined) yield judgeScore(report, input.minScore);
    if (input.maxRegression !== undefined) yield judgeRegression(report, input.maxRegression, input.comparison);
  }
}

function judgeCoverage(report: Report, least: number): GateCheck {
  const { model, coverage } = report;
  const isEnough = isCovered(report, least);
  const share = `${coverageText(report)} have a reward, a coverage of ${shareBeside(coverage, least)}`;
  const sentence = `${model}: ${share}, which is ${isEnough ? 'at least' : 'less than'} ${shareText(least)}.`;
  return { model, check: 'coverage', code: isEnough ? 0 : 4, sentence };
}

function judgeScore({ model, mean, ci95 }: Report, least: number): GateCheck {
  const judged = judgeInterval(ci95, least);
  const score = `the mean ${besideThreshold(mean, ci95, least)}`;
  const sentence = {
    0: `${model}: ${score} is at least ${thresholdText(least)}.`,
    1: `${model}: ${score} is less than ${thresholdText(least)}.`,
    3: `${model}: it is open whether ${score} is at least ${thresholdText(least)}${whyOpen(ci95)}.`,
  }[judged];
  return { model, check: 'score', code: judged, sentence };
}

function judgeRegression({ model }: Report, most: number, comparison: ComparisonList | undefined): GateCheck {
  const found = comparison?.comparisons.find(({ b_model }) => b_model === model);
  if (found === undefined) {
    const known = comparison?.comparisons.map(({ b_model }) => b_model).join(', ') || 'none';
    const reason = comparison === undefined ? 'there is no baseline' : `the baseline has models for ${known} alone`;
    const sentence = `${model}: a regression cannot be judged, since ${reason}.`;
    return { model, check: 'regression', code: 2, sentence };
  }
  const judged = judgeInterval(found.ci95, -most);
  const difference = besideThreshold(found.difference, found.ci95, -most, '+');
  const change = `${difference} from the baseline, on ${found.n_tasks} common tasks,`;
  const limit = `the mean may be lower by ${thresholdText(most)} at most`;
  const sentence = {
    0: `${model}: the difference ${change} is no regression: ${limit}.`,
    1: `${model}: the difference ${change} is a regression: ${limit}.`,
    3: `${model}: it is open whether the difference ${change} is a regression${whyOpen(found.ci95)}: ${limit}.`,
  }[judged];
  return { model, check: 'regression', code: judged, sentence };
}

/** Says whether the whole interval meets the threshold, misses it, or contains it. */
export function judgeInterval(ci95: Report['ci95'], least: number): 0 | 1 | 3 {
  if (ci95 === null) return 3;
  const [low, high] = ci95;
  if (low >= least - ROUNDING) return 0;
  return high < least - ROUNDING ? 1 : 3;
}

function strictly(check: GateCheck): GateCheck {
  return check.code === 3 ? { ...check, code: 1 } : check;
}

function whyOpen(ci95: Report['ci95']): string {
  return ci95 === null ? ', since an interval needs two clusters of tasks with a reward' : '';
}

/** Formats with enough decimals to distinguish the value and its interval from the threshold. */
function besideThreshold(value: number | null, ci95: Report['ci95'], threshold: number, plus: '' | '+' = ''): string {
  if (value === null) return 'of nothing';
  const show = (each: number) => `${each > 0 ? plus : ''}${meanBeside(each, threshold, ci95)}`;
  return ci95 === null ? show(value) : `${show(value)} [${ci95.map(show).join(', ')}]`;
}
