import type { ComponentChildren } from 'preact';
import type { EvaluationDetail, Report } from '../../../contract/service/evaluation.ts';
import {
  countText,
  durationText,
  grouped,
  meanText,
  moneyText,
  NO_FIGURE,
  shareText,
  shareWithInterval,
  spreadText,
  tokensText,
} from '../../../support/text/figures.ts';

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
      hint: `The mean over the tasks of the share of attempts with a reward of at least ${pass_threshold}`,
      value: (report) => <PassRate report={report} />,
    },
    ...atLeastTwo.map((k) => passFigure('pass_at_k', `pass@${k}`, k, `At least one of ${k} attempts passes`)),
    ...atLeastTwo.map((k) => passFigure('pass_hat_k', `pass^${k}`, k, `All of ${k} attempts pass`)),
    { name: 'Coverage', hint: 'Attempts that have a reward', value: ({ coverage }) => shareText(coverage) },
    {
      name: 'Missing as 0',
      hint: 'The mean with 0 for every attempt that has no reward',
      value: ({ mean_missing_as_zero, ci95 }) => meanText(mean_missing_as_zero, ci95),
    },
    {
      name: 'Smallest difference',
      hint: 'To another model on other tasks that this evaluation would find four times in five',
      value: ({ smallest_detectable_difference }) => meanText(smallest_detectable_difference),
    },
    {
      name: 'Cost',
      hint: 'Of agent, users and judges, without reruns',
      value: ({ cost }) => (cost.total === null ? 'unknown' : moneyText(cost.total)),
    },
    reports.some(({ reruns }) => reruns > 0)
      ? {
          name: 'Reruns',
          hint: 'Attempts that were run again, and what the earlier ones cost',
          value: ({ reruns, reruns_cost }) =>
            reruns === 0 ? '0' : `${grouped(reruns)}${reruns_cost === null ? '' : ` (${moneyText(reruns_cost)})`}`,
        }
      : undefined,
    { name: 'Tokens', hint: 'Of the agent, in and out, without reruns', value: ({ tokens }) => <Tokens {...tokens} /> },
    {
      name: 'Steps',
      hint: 'The model’s, of one attempt: 95 of 100 stay below p95',
      value: ({ steps }) => spreadText(steps),
    },
    {
      name: 'Duration',
      hint: 'Of one attempt: 95 of 100 stay below p95',
      value: ({ duration_ms }) => spreadText(duration_ms, durationText),
    },
    { name: 'Wall time', value: ({ wall_ms }) => (wall_ms === null ? NO_FIGURE : durationText(wall_ms)) },
  ];
  return figures.filter((figure) => figure !== undefined);
}

function passFigure(kind: 'pass_at_k' | 'pass_hat_k', name: string, k: number, hint: string): Figure {
  return {
    name,
    hint: `${hint}; over tasks with at least ${k} attempts that have a reward`,
    value: (report) => {
      const figure = report[kind][k];
      if (figure === undefined) return NO_FIGURE;
      return figure.left_out === 0 ? (
        shareText(figure.value)
      ) : (
        <>
          {shareText(figure.value)} <span class="quiet small">{`of ${countText(figure.tasks, 'task')}`}</span>
        </>
      );
    },
  };
}

function Tokens({ prompt, completion }: Report['tokens']) {
  return (
    <>
      {tokensText(prompt)} <span class="quiet small">in</span> {tokensText(completion)}{' '}
      <span class="quiet small">out</span>
    </>
  );
}

function PassRate({ report: { pass_rate, pass_at_k, n_tasks } }: { readonly report: Report }) {
  return (
    <>
      {shareWithInterval(pass_rate.value, pass_rate.ci95)}{' '}
      <span class="quiet small">{`of ${countText(pass_at_k['1']?.tasks ?? n_tasks, 'task')}`}</span>
    </>
  );
}
