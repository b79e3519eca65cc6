import type { FindingName } from '../../../contract/service/check.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { CheckTask, Finding } from '../finding.ts';
import type { PlayedSession } from './play.ts';
import type { SessionPlayer } from './session-player.ts';

/** A session that tries to get a reward without solving the task. */
export interface Attempt {
  readonly finding: FindingName;
  readonly task: CheckTask;
  readonly played: PlayedSession;
  /** Subject and verb of the message, such as `An agent that does nothing and answers ""`. */
  readonly who: string;
  readonly reproduce: string;
}

/**
 * Findings about the attempt's end: it passed, it got a part of the reward (if that counts), the grader failed, or the
 * environment died.
 */
export function toFindings(attempt: Attempt, { threshold }: SessionPlayer, countsParts: boolean): readonly Finding[] {
  const { finding, task, played, who, reproduce } = attempt;
  const { reward, outcome, error } = played.trace;
  const base = { finding, task, played, reproduce };
  if (reward !== null && reward >= threshold) {
    return [
      {
        ...base,
        level: 'error',
        message: `${who} gets the reward ${shown(reward)}${threshold < 1 ? ` (the threshold is ${threshold})` : ''}.`,
      },
    ];
  }
  if (reward !== null && reward > 0 && countsParts) {
    return [{ ...base, level: 'warning', message: `${who} gets a part of the reward: ${shown(reward)}.` }];
  }
  if (reward !== null) return [];
  if (outcome === 'grader_error' && error?.boundary === 'evaluate') {
    return [{ ...base, level: 'error', message: `${who} breaks the grader, which has to give 0: ${error.message}` }];
  }
  const isCrash = error?.boundary === 'environment' || error?.boundary === 'tool';
  return isCrash ? [{ ...base, level: 'error', message: `${who} ends the environment: ${error.message}` }] : [];
}

export function isPassed({ reward }: Pick<Trace, 'reward'>, threshold: number): boolean {
  return reward !== null && reward >= threshold;
}

export function shown(reward: number): string {
  return String(Math.round(reward * 10_000) / 10_000);
}

/** Picks one of several findings about the same fault: the first of the highest level. */
export function worstOf(found: readonly Finding[]): readonly Finding[] {
  const [worst] = [...found].sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  return worst === undefined ? [] : [worst];
}

const LEVELS = ['error', 'warning', 'note'];
