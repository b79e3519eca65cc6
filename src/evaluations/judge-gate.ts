import type { ComparisonList, EvaluationStatus, Report } from '../contract/evaluation.ts';

/** 0: passed. 1: failed. 2: it cannot be judged. 3: the interval contains the threshold. 4: too much is missing. */
export type GateCode = 0 | 1 | 2 | 3 | 4;

/** Share of the attempts that must have a reward. */
export const DEFAULT_MIN_COVERAGE = 0.9;

export interface GateInput {
  readonly evaluation: { readonly status: EvaluationStatus; readonly reports: readonly Report[] };
  /** The baseline as a, the evaluation as b. */
  readonly comparison?: ComparisonList | undefined;
  /** The model to judge; absent: all. */
  readonly model?: string | undefined;
  /** Of `mean`. */
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
  /** What limits what the verdict says. */
  readonly warnings: readonly string[];
}

/** Whether an evaluation is good enough (contract section 7, "Gate"). */
export function judgeGate(_input: GateInput): GateVerdict {
  throw new Error('not built yet');
}
