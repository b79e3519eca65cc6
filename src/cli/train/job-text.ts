import type { TrainingEvent, TrainingJob } from '../../contract/training.ts';
import { isTrainingEnd } from '../../contract/training-states.ts';
import { colors, printable } from '../terminal.ts';

/** A line for an event, or none where it says nothing to a person. */
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
    ['State', `${job.status}${job.cancel_requested && !isTrainingEnd(job.status) ? ', being cancelled' : ''}`],
    [
      'Dataset',
      dataset === null
        ? undefined
        : `${dataset.lines.train} lines for training, ${dataset.lines.validation} for validation`,
    ],
    ['Checkpoints', checkpoints.length === 0 ? undefined : checkpoints.map(({ step }) => `@${step}`).join(' ')],
    ['Target', target ?? undefined],
    ['Waits', trouble?.message],
    ['Error', error?.message],
    ['Gain', proof === null ? undefined : gainText(proof)],
    ['No proof', proofError ?? undefined],
  ];
  return rows.flatMap(([name, text]) =>
    text === undefined ? [] : [`${colors.bold(name.padEnd(12))}${printable(text, 2_000)}`],
  );
}

function gainText({ compare }: NonNullable<TrainingJob['proof']>): string {
  const [comparison] = compare.comparisons;
  if (comparison === undefined || comparison.difference === null) return 'could not be computed';
  const { a_mean, b_mean, difference, ci95, n_tasks, won_count, lost_count } = comparison;
  const interval = ci95 === null ? '' : `, 95 % interval ${signed(ci95[0])} to ${signed(ci95[1])}`;
  return `${signed(difference)}${interval}: mean reward ${a_mean?.toFixed(3)} of the base, ${b_mean?.toFixed(3)} of the model; ${won_count} of ${n_tasks} tasks won, ${lost_count} lost`;
}

function signed(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(3)}`;
}
