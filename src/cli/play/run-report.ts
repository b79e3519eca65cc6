import type { Trace } from '../../contract/service/trace.ts';
import type { MeanInterval } from '../../evaluation/statistics/mean-interval.ts';
import { meanBeside, rewardText, thresholdText, withInterval } from '../../support/text/figures.ts';
import { colors, note, print, printJson } from '../base/terminal.ts';

export interface ReportOptions {
  /** Number of requested runs. Fewer traces mean that the command was stopped. */
  readonly runs: number;
  readonly minReward?: number;
  readonly json?: boolean;
}

/** Statistics of independent runs. */
async function figuresOf(rewards: readonly number[]): Promise<MeanInterval> {
  const { meanInterval } = await import('../../evaluation/statistics/mean-interval.ts');
  const { rateInterval } = await import('../../evaluation/statistics/rate-interval.ts');
  const figures = meanInterval(rewards);
  return { ...figures, ci95: rateInterval(rewards, { ci95: figures.ci95, isIndependent: true }) };
}

/** Number of runs by end. Each requested run is counted once. */
interface Ends {
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly not_started: number;
}

/**
 * Prints the result on standard output and notes on standard error.
 *
 * @returns true if every run completed and the mean reward is at least `minReward`.
 */
export async function reportRuns(
  traces: readonly Trace[],
  { runs, minReward, json = false }: ReportOptions,
): Promise<boolean> {
  const figures = await figuresOf(traces.map(({ reward }) => reward).filter((reward) => reward !== null));
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
  } else {
    const unrewarded = traces.filter(({ reward }) => reward === null);
    const withoutReward = countEnds(unrewarded, runs - figures.n);
    print(runs === 1 ? describeOne(mean, traces[0]?.status) : describeSeveral(figures, withoutReward, runs));
  }
  if (ends.completed < runs) note(colors.red(`${runs - ends.completed} of ${runs} runs did not complete.`));
  if (!isEnough) {
    const found = mean === null ? 'There is no reward at all, so it' : `The mean reward ${meanBeside(mean, minReward)}`;
    note(colors.red(`${found} is below --min-reward ${thresholdText(minReward)}.`));
  }
  return passed;
}

function countEnds(traces: readonly Trace[], runs: number): Ends {
  const count = (wanted: Trace['status']) => traces.filter(({ status }) => status === wanted).length;
  const ends = { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') };
  return { ...ends, not_started: runs - traces.length };
}

function describeOne(reward: number | null, status: Trace['status'] | undefined): string {
  return reward === null ? `no reward: the run ${ENDED[status ?? 'queued']}` : `reward ${rewardText(reward)}`;
}

const ENDED: Readonly<Record<Trace['status'], string>> = {
  queued: 'was not started',
  running: 'has not ended',
  completed: 'completed without one',
  failed: 'failed',
  cancelled: 'was cancelled',
};

/** `mean reward 0.50 [0.19, 0.81] (95 % interval); 6 of 8 runs have a reward: 1 failed, 1 cancelled` */
function describeSeveral({ n, mean, ci95 }: MeanInterval, withoutReward: Ends, runs: number): string {
  const reward = mean === null ? 'no mean reward' : `mean reward ${withInterval(mean, ci95)}`;
  const unit = ci95 === null ? '' : ' (95 % interval)';
  const dead = describeDead(withoutReward);
  return `${reward}${unit}; ${n} of ${runs} runs have a reward${dead === '' ? '' : `: ${dead}`}`;
}

/** Reasons for missing rewards; empty if all runs have one. */
function describeDead({ completed, failed, cancelled, not_started }: Ends): string {
  const counts = [
    [failed, 'failed'],
    [cancelled, 'cancelled'],
    [not_started, 'not started'],
    [completed, 'completed without one'],
  ] as const;
  return counts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${count} ${what}`)
    .join(', ');
}
