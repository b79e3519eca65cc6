import type { Trace } from '../contract/trace.ts';
import { summarize } from './statistics.ts';
import { colors, note, print, printJson } from './terminal.ts';

export interface ReportOptions {
  /** How many runs were asked for; fewer traces mean that the command was stopped. */
  readonly runs: number;
  readonly minReward?: number;
  readonly json?: boolean;
}

/**
 * Prints what came out: the result on standard output, what to know of it on standard error.
 *
 * @returns whether every run completed with a mean reward that is at least `minReward`.
 */
export function reportRuns(traces: readonly Trace[], { runs, minReward, json = false }: ReportOptions): boolean {
  const rewards = traces.map(({ reward }) => reward).filter((reward) => reward !== null);
  const { mean, deviation } = summarize(rewards);
  const completed = traces.filter(({ status }) => status === 'completed').length;
  const isEnough = minReward === undefined || (mean !== null && mean >= minReward);
  const passed = completed === runs && isEnough;
  if (json) {
    printJson({
      passed,
      completed,
      mean_reward: mean,
      reward_deviation: deviation,
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
  } else if (runs === 1) {
    print(mean === null ? 'no reward' : `reward ${mean}`);
  } else {
    const spread = deviation === null ? '' : ` ± ${rounded(deviation)}`;
    print(`mean reward ${mean === null ? '–' : rounded(mean)}${spread} over ${rewards.length} of ${runs} runs`);
  }
  if (completed < runs) note(colors.red(`${runs - completed} of ${runs} runs did not complete.`));
  if (!isEnough) {
    const found = mean === null ? 'There is no reward at all, so it' : `The mean reward ${rounded(mean)}`;
    note(colors.red(`${found} is below --min-reward ${minReward}.`));
  }
  return passed;
}

/** At most four decimals, none that say nothing. */
function rounded(value: number): number {
  return Number(value.toFixed(4));
}
