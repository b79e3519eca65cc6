import type { ComponentChildren } from 'preact';
import type { EvaluationDetail, Report } from '../../../contract/evaluation.ts';
import { formatCost, formatCount, formatDuration } from '../../format.ts';
import { formatLong, formatMean, formatPercent, formatTokens, formatWithInterval } from './figures.ts';

interface Figure {
  readonly name: string;
  readonly hint?: string;
  value(report: Report): ComponentChildren;
}

/** The other figures of the reports, the models side by side. */
export function ReportTable({ evaluation }: { readonly evaluation: EvaluationDetail }) {
  const { reports } = evaluation;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table-scroll" aria-label="Figures by model" tabIndex={0}>
      <table class="table figures">
        <thead>
          <tr>
            <td />
            {reports.map(({ model }) => (
              <th key={model} scope="col" class="number">
                {model}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {figuresOf(evaluation).map(({ name, hint, value }) => (
            <tr key={name}>
              <th scope="row" title={hint}>
                {name}
              </th>
              {reports.map((report) => (
                <td key={report.model} class="number">
                  {value(report)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function figuresOf({ reports, pass_threshold }: EvaluationDetail): readonly Figure[] {
  const ks = [...new Set(reports.flatMap(({ pass_at_k }) => Object.keys(pass_at_k)))].map(Number).sort((a, b) => a - b);
  const atLeastTwo = ks.filter((k) => k > 1);
  const figures: readonly (Figure | undefined)[] = [
    {
      name: 'Pass rate',
      hint: `Share of the attempts with a reward of ${pass_threshold} or more`,
      value: ({ pass_rate }) => formatWithInterval(pass_rate.value, pass_rate.ci95),
    },
    ...atLeastTwo.map((k) => passFigure('pass_at_k', `pass@${k}`, k, `At least one of ${k} attempts passes`)),
    ...atLeastTwo.map((k) => passFigure('pass_hat_k', `pass^${k}`, k, `All of ${k} attempts pass`)),
    { name: 'Coverage', hint: 'Attempts that have a reward', value: ({ coverage }) => formatPercent(coverage) },
    {
      name: 'Missing as 0',
      hint: 'The mean with 0 for every attempt that has no reward',
      value: ({ mean_missing_as_zero }) => formatMean(mean_missing_as_zero),
    },
    {
      name: 'Smallest difference',
      hint: 'To another model on other tasks that this evaluation would find four times in five',
      value: ({ smallest_detectable_difference }) => formatMean(smallest_detectable_difference),
    },
    { name: 'Cost', value: ({ cost }) => formatUsd(cost.total) },
    reports.some(({ reruns }) => reruns > 0)
      ? {
          name: 'Reruns',
          hint: 'Attempts that were run again, and what the earlier ones cost',
          value: ({ reruns, reruns_cost }) =>
            reruns === 0 ? '0' : `${formatCount(reruns)}${reruns_cost === null ? '' : ` (${formatCost(reruns_cost)})`}`,
        }
      : undefined,
    { name: 'Tokens', hint: 'In and out', value: ({ tokens }) => <Tokens {...tokens} /> },
    { name: 'Steps', hint: 'Median, and the 95th of a hundred', value: ({ steps }) => formatSpread(steps, String) },
    {
      name: 'Duration',
      hint: 'Of one attempt: median, and the 95th of a hundred',
      value: ({ duration_ms }) => formatSpread(duration_ms, (ms) => formatDuration(Math.round(ms))),
    },
    { name: 'Wall time', value: ({ wall_ms }) => (wall_ms === null ? '–' : formatLong(wall_ms)) },
  ];
  return figures.filter((figure) => figure !== undefined);
}

function passFigure(kind: 'pass_at_k' | 'pass_hat_k', name: string, k: number, hint: string): Figure {
  return {
    name,
    hint: `${hint}; over tasks with at least ${k} attempts that have a reward`,
    value: (report) => {
      const figure = report[kind][k];
      if (figure === undefined) return '–';
      return figure.left_out === 0 ? (
        formatMean(figure.value)
      ) : (
        <>
          {formatMean(figure.value)} <span class="quiet small">{`of ${formatCount(figure.tasks)} tasks`}</span>
        </>
      );
    },
  };
}

function Tokens({ prompt, completion }: Report['tokens']) {
  return (
    <>
      {formatTokens(prompt)} <span class="quiet small">in</span> {formatTokens(completion)}{' '}
      <span class="quiet small">out</span>
    </>
  );
}

function formatSpread({ median, p95 }: Report['steps'], format: (value: number) => string): string {
  return median === null ? '–' : `${format(median)}, ${p95 === null ? '–' : format(p95)}`;
}

function formatUsd(usd: number | null): string {
  if (usd === null) return 'not known';
  return usd === 0 ? '$0' : formatCost(usd);
}
