import type { Trace } from '../contract/trace.ts';
import { type MeanInterval, meanInterval } from '../statistics/mean-interval.ts';
import { colors, note, print, printJson } from './terminal.ts';

export interface ReportOptions {
  /** How many runs were asked for; fewer traces mean that the command was stopped. */
  readonly runs: number;
  readonly minReward?: number;
  readonly json?: boolean;
}

/** How the runs ended; every run that was asked for is counted once. */
interface Ends {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly not_started: number;
}

/**
 * Prints what came out: the result on standard output, what to know of it on standard error.
 *
 * @returns whether every run completed with a mean reward that is at least `minReward`.
 */
export function reportRuns(traces: readonly Trace[], { runs, minReward, json = false }: ReportOptions): boolean {
  const figures = meanInterval(traces.map(({ reward }) => reward).filter((reward) => reward !== null));
  const { mean } = figures;
  const ends = countEnds(traces, runs);
  const isEnough = minReward === undefined || (mean !== null && mean >= minReward);
  const passed = ends.completed === runs && isEnough;
  if (json) {
    printJson({
      passed: minReward === undefined ? null : passed,
      n: runs,
      with_reward: figures.n,
      ...ends,
      mean_reward: mean,
      stderr: figures.stderr,
      ci95: figures.ci95,
      runs: traces.map(({ trace_id, trace_url, status, stop_reason, reward, answer, error }) => ({
        trace_id,
        trace_url,
        status,
        stop_reason,
        reward,
        answer,
        error,
      })),
    });
  } else print(runs === 1 ? describeOne(mean, traces[0]?.status) : describeSeveral(figures, ends, runs));
  if (ends.completed < runs) note(colors.red(`${runs - ends.completed} of ${runs} runs did not complete.`));
  if (!isEnough) {
    const found = mean === null ? 'There is no reward at all, so it' : `The mean reward ${rounded(mean)}`;
    note(colors.red(`${found} is below --min-reward ${minReward}.`));
  }
  return passed;
}

function countEnds(traces: readonly Trace[], runs: number): Ends {
  const count = (wanted: Trace['status']) => traces.filter(({ status }) => status === wanted).length;
  const ends = { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') };
  return { ...ends, not_started: runs - traces.length };
}

function describeOne(reward: number | null, status: Trace['status'] | undefined): string {
  return reward === null ? `no reward: the run ${ENDED[status ?? 'queued']}` : `reward ${reward}`;
}

const ENDED: Readonly<Record<Trace['status'], string>> = {
  queued: 'was not started',
  running: 'has not ended',
  completed: 'completed without one',
  failed: 'failed',
  cancelled: 'was cancelled',
};

/** `mean reward 0.5, 95 % interval -0.0748 to 1.0748; 6 of 8 runs have a reward: 1 failed, 1 cancelled` */
function describeSeveral({ n, mean, ci95 }: MeanInterval, ends: Ends, runs: number): string {
  const reward = mean === null ? 'no mean reward' : `mean reward ${rounded(mean)}`;
  const interval = ci95 === null ? '' : `, 95 % interval ${rounded(ci95[0])} to ${rounded(ci95[1])}`;
  const dead = describeDead(ends, n);
  return `${reward}${interval}; ${n} of ${runs} runs have a reward${dead === '' ? '' : `: ${dead}`}`;
}

/** Why runs have no reward; empty where all have one. */
function describeDead({ completed, failed, cancelled, not_started }: Ends, withReward: number): string {
  const counts = [
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [not_started, 'not started'],
    [completed - withReward, 'completed without one'],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}

/** At most four decimals, none that say nothing. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}
