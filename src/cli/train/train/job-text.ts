import { isEnded } from '../../../contract/service/ended.ts';
import type { TrainingEvent, TrainingJob } from '../../../contract/service/training.ts';
import { judgeInterval } from '../../../evaluation/evaluations/report/judge-gate.ts';
import { padToWidth } from '../../../support/text/display-width.ts';
import { countText, differenceText, grouped, meanText } from '../../../support/text/figures.ts';
import { colors, printable } from '../../base/terminal.ts';

/** The line of an event; undefined for an event without news for the user. */
export function eventLine(event: TrainingEvent): string | undefined {
  const at = colors.dim(event.at.slice(11, 19));
  switch (event.type) {
    case 'status':
      return `${at} ${colors.bold(event.status)}${event.message === null ? '' : `  ${printable(event.message, 2_000)}`}`;
    case 'log': {
      const text = printable(event.message, 500);
      return `${at}   ${event.level === 'info' ? text : colors.yellow(text)}`;
    }
    case 'progress':
      return `${at}   ${event.done} of ${event.total}`;
    case 'metrics':
      return `${at}   step ${event.step}  ${numbersText(event.metrics)}`;
    case 'checkpoint':
      return `${at}   checkpoint of step ${event.checkpoint.step}: ${printable(event.checkpoint.target)}`;
  }
}

function numbersText(metrics: Readonly<Record<string, number>>): string {
  return Object.entries(metrics)
    .map(([name, value]) => `${printable(name, 40)} ${Number(value.toPrecision(5))}`)
    .join('  ');
}

/** The state of a job, in lines. */
export function jobLines(job: TrainingJob): readonly string[] {
  const { dataset, checkpoints, target, trouble, error, proof, proof_error: proofError } = job;
  const rows: (readonly [string, string | undefined])[] = [
    ['Job', job.job_id],
    ['Model', job.name],
    ['Base', job.base],
    ['Trainer', `${job.provider}, ${job.method}`],
    ['State', `${job.status}${job.cancel_requested && !isEnded(job.status) ? ', being cancelled' : ''}`],
    [
      'Dataset',
      dataset === null
        ? undefined
        : `${countText(dataset.lines.train, 'line')} for training, ${grouped(dataset.lines.validation)} for validation`,
    ],
    ['Checkpoints', checkpoints.length === 0 ? undefined : checkpoints.map(({ step }) => `@${step}`).join(' ')],
    ['Target', target ?? undefined],
    ['Waits', trouble?.message],
    ['Error', error?.message],
    ['Verdict', proof === null ? undefined : VERDICTS[proof.verdict]],
    ['Gain', proof === null ? undefined : gainText(proof)],
    ['No proof', proofError ?? undefined],
  ];
  return rows.flatMap(([name, text]) =>
    text === undefined ? [] : [`${colors.bold(padToWidth(name, 12))}${printable(text, 2_000)}`],
  );
}

const VERDICTS = {
  better: 'better than its base',
  worse: 'worse than its base',
  equal: 'equal to its base on every task',
  open: 'no difference from its base can be told',
} as const;

/** Judges whether the gain of a finished job is enough. Exit codes are those of the gate: 4 without a proof. */
export function judgeGain({ proof, proof_error: missing }: TrainingJob, least: number) {
  const [comparison] = proof?.compare.comparisons ?? [];
  if (comparison === undefined || comparison.difference === null) {
    const why = missing ?? 'base and model could not be compared';
    return { code: 4, sentence: `There is no gain to judge by --min-gain ${least}: ${why}` };
  }
  const code = judgeInterval(comparison.ci95, least);
  const sentence = {
    0: `The gain is at least ${least}.`,
    1: `The gain is less than ${least}.`,
    3: `It is open whether the gain is at least ${least}: ${comparison.ci95 === null ? 'there are too few tasks for an interval' : 'the interval contains it'}.`,
  }[code];
  return { code, sentence };
}

function gainText({ compare }: NonNullable<TrainingJob['proof']>): string {
  const [comparison] = compare.comparisons;
  if (comparison === undefined || comparison.difference === null) return 'could not be computed';
  const { a_mean, b_mean, difference, ci95, n_tasks, won_count, lost_count } = comparison;
  const means = `mean reward ${meanText(a_mean, ci95)} of the base, ${meanText(b_mean, ci95)} of the model`;
  const tally = `${grouped(won_count)} of ${countText(n_tasks, 'task')} won, ${grouped(lost_count)} lost`;
  return `${differenceText(difference, ci95)}: ${means}; ${tally}`;
}
