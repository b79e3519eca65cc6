import type { EvaluationDetail, Report } from '../../../contract/evaluation.ts';
import { formatCount } from '../../format.ts';
import { describeCoverage, formatMean, formatWithInterval, isEnded } from './figures.ts';
import { IntervalBar, toDomain } from './interval-bar.tsx';

/** The mean of each model with its interval, drawn on one scale; the best first. */
export function ReportList({ evaluation: { reports, status } }: { readonly evaluation: EvaluationDetail }) {
  const sorted = [...reports].sort((one, other) => (other.mean ?? -Infinity) - (one.mean ?? -Infinity));
  const domain = toDomain(
    reports.flatMap(({ ci95, mean }) => [...(ci95 ?? []), mean]),
    [0, 1],
  );
  return (
    <ol class="report-list" aria-label="Mean reward by model">
      {sorted.map((report, index) => (
        <li key={report.model}>
          <span class="report-model">{report.model}</span>
          <IntervalBar
            value={report.mean}
            interval={report.ci95}
            domain={domain}
            marks={[0, 1]}
            isNamed={index === sorted.length - 1}
          />
          <span class="report-words">
            <b>{formatWithInterval(report.mean, report.ci95)}</b>
            {report.mean === null ? ' no attempt has a reward yet' : `, ${describeCoverage(report)}`}
            <span class="quiet report-missing">{describeMissing(report, isEnded(status))}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The second line of a report: every attempt that has no reward counts as 0. */
function describeMissing({ coverage, n_attempts, mean_missing_as_zero }: Report, hasEnded: boolean): string {
  const missing = n_attempts - Math.round(coverage * n_attempts);
  if (missing === 0) return 'nothing is missing';
  const which = hasEnded ? `${formatCount(missing)} missing` : `${formatCount(missing)} that have no reward yet`;
  return `${formatMean(mean_missing_as_zero)} with the ${which} as 0`;
}
