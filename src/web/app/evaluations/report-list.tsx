import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail, Report } from '../../../contract/service/evaluation.ts';
import { countRewarded, coverageText } from '../../../support/text/evaluation-figures.ts';
import { grouped, meanText, withInterval } from '../../../support/text/figures.ts';
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
            <b>{withInterval(report.mean, report.ci95)}</b>
            {report.mean === null ? ' no attempt has a reward yet' : `, ${coverageText(report)}`}
            <span class="quiet report-missing">{describeMissing(report, isEnded(status))}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The second line of a report: every attempt that has no reward counts as 0. */
function describeMissing(report: Report, hasEnded: boolean): string {
  const missing = report.n_attempts - countRewarded(report);
  if (missing === 0) return 'nothing is missing';
  const which = hasEnded ? `${grouped(missing)} missing` : `${grouped(missing)} that have no reward yet`;
  return `${meanText(report.mean_missing_as_zero, report.ci95)} with the ${which} as 0`;
}
