import type { ComparisonList, EvaluationStatus, Report } from '../contract/evaluation.ts';

/** 0: passed. 1: failed. 2: it cannot be judged. 3: the interval contains the threshold. 4: too much is missing. */
export type GateCode = 0 | 1 | 2 | 3 | 4;

/** Share of the attempts that must have a reward. */
export const DEFAULT_MIN_COVERAGE = 0.9;

export interface GateInput {
  readonly evaluation: {
    readonly status: EvaluationStatus;
    readonly reports: readonly Report[];
    /** Environments whose code was not the same for all attempts. */
    readonly changed_environments?: readonly string[];
  };
  /** The baseline as a, the evaluation as b. */
  readonly comparison?: ComparisonList | undefined;
  /** The model to judge; absent: all. */
  readonly model?: string | undefined;
  /** The least that `mean` may be. */
  readonly minScore?: number | undefined;
  /** By how much the mean may be lower than that of the baseline, 0 or more. Needs `comparison`. */
  readonly maxRegression?: number | undefined;
  /** 0 to 1, default 0.9. */
  readonly minCoverage?: number | undefined;
  /** True: what is inconclusive has failed. */
  readonly isStrict?: boolean | undefined;
}

export interface GateCheck {
  /** Null: of the evaluation as a whole. */
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
  /** Reasons to trust the verdict less. */
  readonly warnings: readonly string[];
}

const FROM_THE_WORST: readonly GateCode[] = [2, 4, 1, 3, 0];

/** Rounding is no reason to fail: 0.1 + 0.2 is 0.3. */
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

function judgeCoverage({ model, coverage, n_attempts }: Report, least: number): GateCheck {
  const isEnough = coverage >= least - ROUNDING;
  const show = shownBeside(least);
  const rewarded = Math.round(coverage * n_attempts);
  const share = `${rewarded} of ${n_attempts} attempts have a reward, a coverage of ${show(coverage)}`;
  const sentence = `${model}: ${share}, which is ${isEnough ? 'at least' : 'less than'} ${show(least)}.`;
  return { model, check: 'coverage', code: isEnough ? 0 : 4, sentence };
}

function judgeScore({ model, mean, ci95 }: Report, least: number): GateCheck {
  const judged = judgeInterval(ci95, least);
  const show = shownBeside(least);
  const score = `the mean ${withInterval(mean, ci95, show)}`;
  const sentence = {
    0: `${model}: ${score} is at least ${show(least)}.`,
    1: `${model}: ${score} is less than ${show(least)}.`,
    3: `${model}: it is open whether ${score} is at least ${show(least)}${whyOpen(ci95)}.`,
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
  const show = shownBeside(-most);
  const difference = withInterval(found.difference, found.ci95, (value) =>
    value > 0 ? `+${show(value)}` : show(value),
  );
  const change = `${difference} from the baseline, on ${found.n_tasks} common tasks,`;
  const limit = `the mean may be lower by ${shownBeside(0)(most)} at most`;
  const sentence = {
    0: `${model}: the difference ${change} is no regression: ${limit}.`,
    1: `${model}: the difference ${change} is a regression: ${limit}.`,
    3: `${model}: it is open whether the difference ${change} is a regression${whyOpen(found.ci95)}: ${limit}.`,
  }[judged];
  return { model, check: 'regression', code: judged, sentence };
}

/** The whole interval meets the threshold, misses it, or neither. */
function judgeInterval(ci95: Report['ci95'], least: number): 0 | 1 | 3 {
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

type Show = (value: number) => string;

function withInterval(value: number | null, ci95: Report['ci95'], show: Show): string {
  if (value === null) return 'of nothing';
  return ci95 === null ? show(value) : `${show(value)} [${ci95.map(show).join(', ')}]`;
}

const DIGITS = { usual: 4, most: 12 } as const;

/** Rounded to four digits behind the point, or to more where a value would look like the threshold and is not. */
function shownBeside(threshold: number): Show {
  const rounded = (value: number, digits: number) => Number(value.toFixed(digits)) + 0; // Without -0.
  return (value) => {
    let digits: number = DIGITS.usual;
    const isOther = Math.abs(value - threshold) > ROUNDING;
    while (isOther && digits < DIGITS.most && rounded(value, digits) === rounded(threshold, digits)) digits += 1;
    return String(rounded(value, digits));
  };
}
