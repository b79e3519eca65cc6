import type { EvaluationSummary, Report } from '../../contract/service/evaluation.ts';
import { countText, grouped } from './figures.ts';

/** Smallest share of attempts with a reward at which the other figures are meaningful. */
export const DEFAULT_MIN_COVERAGE = 0.9;

/** Tolerance for rounding errors, such as in 0.1 + 0.2. */
const ROUNDING = 1e-9;

export function isCovered({ coverage }: Pick<Report, 'coverage'>, least: number): boolean {
  return coverage >= least - ROUNDING;
}

/** Number of attempts with a reward. */
export function countRewarded({ coverage, n_attempts }: Pick<Report, 'coverage' | 'n_attempts'>): number {
  return Math.round(coverage * n_attempts);
}

/** Such as `198 of 200 attempts`. */
export function coverageText(report: Pick<Report, 'coverage' | 'n_attempts'>): string {
  return `${grouped(countRewarded(report))} of ${countText(report.n_attempts, 'attempt')}`;
}

/** Explains the pass rate, with its number of tasks. Each task counts once, however many attempts it has. */
export function passRateMeaning({ pass_at_k, n_attempts, n_tasks }: Report, threshold: number): string {
  const tasks = countText(pass_at_k['1']?.tasks ?? n_tasks, 'task');
  const isOneEach = n_attempts === n_tasks;
  return isOneEach
    ? `of ${tasks} with a reward, those of at least ${threshold}`
    : `the mean over ${tasks} of the share of attempts with a reward of at least ${threshold}`;
}

/**
 * Short notes about the problems of a completed evaluation, such as `over budget` or `25 of 80 have a reward`. Empty
 * without problems, and while the evaluation runs.
 */
export function shortfallsOf(
  { status, progress, reports }: Pick<EvaluationSummary, 'status' | 'progress' | 'reports'>,
  leastCoverage = DEFAULT_MIN_COVERAGE,
): readonly string[] {
  if (status !== 'completed') return [];
  const isShort = reports.some((report) => !isCovered(report, leastCoverage));
  return [
    ...((progress.outcomes.over_budget ?? 0) > 0 ? ['over budget'] : []),
    ...(isShort ? [`${rewardedOf(reports)} have a reward`] : []),
  ];
}

/** Rewarded attempts of all models, such as `25 of 80`. */
function rewardedOf(reports: readonly Report[]): string {
  const total = reports.reduce((sum, { n_attempts }) => sum + n_attempts, 0);
  return `${grouped(reports.reduce((sum, report) => sum + countRewarded(report), 0))} of ${grouped(total)}`;
}
