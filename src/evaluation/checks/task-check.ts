import type { FindingName } from '../../contract/service/check.ts';
import type { AgentToolEntry } from '../../environment/client/environment-client.ts';
import type { Finding, Subject } from './finding.ts';
import { illTold } from './player/described.ts';
import type { PlayedSession } from './player/play.ts';
import type { SessionPlayer } from './player/session-player.ts';
import { deterministic } from './tries/deterministic.ts';
import { echo } from './tries/echo.ts';
import { forgeAnswers } from './tries/forger.ts';
import { doesAnswerCount, graderStrength, type Strength } from './tries/grader-strength.ts';
import { idle } from './tries/idle.ts';
import type { PlayAgain } from './tries/isolated.ts';
import { leak, type Seen } from './tries/leak.ts';
import { random } from './tries/random.ts';

export interface TaskCheckParts {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  /** Everything that agents of the scenario see without a call. */
  readonly seen: Seen;
  /** A session with wrong calls of every tool. */
  readonly clumsy: PlayedSession;
  readonly again: PlayAgain;
}

export interface TaskChecked {
  readonly subject: Subject;
  /** Findings without those of `paidIdle`. */
  readonly found: readonly Finding[];
  /** Findings about rewards of idle agents. */
  readonly paidIdle: readonly Finding[];
  readonly answerCounts: boolean | undefined;
  readonly strength: Strength | undefined;
}

const PAID = 'an agent that solves nothing is paid, or ends it, already';
const UNSOLVED = { 'no solution': 'it has no solution', unsolved: 'its solution does not pass' } as const;

/**
 * Finds the faults of one task. Each fault is reported once: after a reward without work, further tries are left out.
 */
export class TaskCheck {
  readonly #bench: SessionPlayer;
  readonly #parts: TaskCheckParts;

  constructor(bench: SessionPlayer, parts: TaskCheckParts) {
    this.#bench = bench;
    this.#parts = parts;
  }

  /** @param isFirst true for the first task of its scenario, which is tried in every way. */
  async run(subject: Subject, isFirst: boolean): Promise<TaskChecked> {
    const { tools, seen, clumsy, again } = this.#parts;
    const bench = this.#bench;
    const paidIdle = await idle(subject, bench);
    const isPaid = paidIdle.some(({ level }) => level === 'error');
    const found: Finding[] = [];
    const plays: PlayedSession[] = [subject.solved, ...(isFirst ? [clumsy] : [])];
    const { task } = subject;
    const leaveOut = (findings: FindingName | readonly FindingName[], why: string) =>
      bench.coverage.notTried(findings, why, { task });
    if (isPaid) leaveOut(['random', 'echo', 'forger'], 'an agent that does nothing is paid already');
    const chance = isPaid ? { found: [], plays: [] } : await random(subject, bench, isFirst);
    plays.push(...chance.plays);
    found.push(...chance.found);
    const hasError = () => isPaid || found.some(({ level }) => level === 'error');
    if (!hasError()) found.push(...(await echo(subject, bench, isFirst)));
    else if (!isPaid) leaveOut(['echo', 'forger'], PAID);
    if (!hasError()) found.push(...(await forgeAnswers(subject, bench, isFirst)));
    else if (!isPaid) leaveOut('forger', PAID);
    if (isFirst) found.push(...crashOf(subject, clumsy));
    const { mutants: most } = bench.tries(isFirst);
    let answerCounts: boolean | undefined;
    let strength: Strength | undefined;
    const isLate = (finding: FindingName | readonly FindingName[]) => bench.budget.isOver(finding, subject.task);
    if (subject.state !== 'solved') leaveOut(['leak', 'grader_strength'], UNSOLVED[subject.state]);
    else if (!isLate(['grader_strength', 'leak'])) {
      const changes =
        isFirst || bench.isDisturbed || isLate('deterministic')
          ? []
          : await deterministic(subject, bench, (open) => again(subject, { open: open ?? bench.places.cheap }), false);
      found.push(...changes);
      answerCounts = await doesAnswerCount(subject, bench);
      if (answerCounts) found.push(...leak(subject, bench, seen, plays));
      else if (subject.solved.hasDefaultVerdict)
        leaveOut('leak', 'only a judge reads the answer, and a check has none');
      // An answer that does not count cannot leak.
      if (answerCounts || !subject.solved.hasDefaultVerdict) bench.coverage.tried('leak', { task });
      const isSteady = subject.isSteady && changes.length === 0;
      if (hasError()) leaveOut('grader_strength', 'an agent is paid without a solution');
      else if (!isSteady) leaveOut('grader_strength', 'two sessions of it differ');
      else strength = await graderStrength(subject, bench, { tools, answerCounts, most });
      if (strength?.played === 0) leaveOut('grader_strength', 'no change of its solution was played');
      found.push(...(strength?.found ?? []));
    }
    for (const played of plays) {
      found.push(...illTold(subject.task, played, bench));
    }
    return { subject, found, paidIdle, answerCounts, strength };
  }
}

/** Calls that break the schema must give error results and not end the environment. */
function crashOf({ task }: Subject, played: PlayedSession): readonly Finding[] {
  const { error } = played.trace;
  if (error?.boundary !== 'environment') return [];
  const message = `A wrong call of an agent ends the environment: ${error.message}`;
  return [{ finding: 'random', level: 'error', task, played, message }];
}
