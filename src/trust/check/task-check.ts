import type { AgentToolEntry } from '../../client/environment-client.ts';
import type { FindingName } from '../../contract/check.ts';
import type { Bench } from './bench.ts';
import { illTold } from './described.ts';
import { deterministic } from './deterministic.ts';
import { echo } from './echo.ts';
import type { Found, Subject } from './finding.ts';
import { forgeAnswers } from './forger.ts';
import { doesAnswerCount, graderStrength, type Strength } from './grader-strength.ts';
import { idle } from './idle.ts';
import type { PlayAgain } from './isolated.ts';
import { leak, type Seen } from './leak.ts';
import type { Played } from './play.ts';
import { random } from './random.ts';

export interface TaskCheckParts {
  readonly tools: ReadonlyMap<string, AgentToolEntry>;
  /** Everything that agents of its scenario see without a call. */
  readonly seen: Seen;
  /** A session in which every tool was called wrongly. */
  readonly clumsy: Played;
  readonly again: PlayAgain;
}

export interface TaskChecked {
  readonly subject: Subject;
  /** Without those of `paidIdle`. */
  readonly found: readonly Found[];
  /** Rewards of idle agents. */
  readonly paidIdle: readonly Found[];
  readonly answerCounts: boolean | undefined;
  readonly strength: Strength | undefined;
}

/** The findings about one task. A fault is told once: who is paid for nothing is not tried in further ways. */
export class TaskCheck {
  readonly #bench: Bench;
  readonly #parts: TaskCheckParts;

  constructor(bench: Bench, parts: TaskCheckParts) {
    this.#bench = bench;
    this.#parts = parts;
  }

  /** @param isFirst of its scenario, which is tried in every way. */
  async run(subject: Subject, isFirst: boolean): Promise<TaskChecked> {
    const { tools, seen, clumsy, again } = this.#parts;
    const bench = this.#bench;
    const paidIdle = await idle(subject, bench);
    const isPaid = paidIdle.some(({ level }) => level === 'error');
    const found: Found[] = [];
    const plays: Played[] = [subject.solved, ...(isFirst ? [clumsy] : [])];
    const chance = isPaid ? { found: [], plays: [] } : await random(subject, bench, isFirst);
    plays.push(...chance.plays);
    found.push(...chance.found);
    const hasError = () => isPaid || found.some(({ level }) => level === 'error');
    if (!hasError()) found.push(...(await echo(subject, bench, isFirst)));
    if (!hasError()) found.push(...(await forgeAnswers(subject, bench, isFirst)));
    if (isFirst) found.push(...crashOf(subject, clumsy));
    const { mutants: most } = bench.tries(isFirst);
    let answerCounts: boolean | undefined;
    let strength: Strength | undefined;
    const isLate = (finding: FindingName | readonly FindingName[]) => bench.budget.isOver(finding, subject.task);
    if (subject.state === 'solved' && !isLate(['grader_strength', 'leak'])) {
      const changes =
        isFirst || bench.isDisturbed || isLate('deterministic')
          ? []
          : await deterministic(subject, bench, (open) => again(subject, { open: open ?? bench.places.cheap }), false);
      found.push(...changes);
      answerCounts = await doesAnswerCount(subject, bench);
      if (answerCounts) found.push(...leak(subject, bench, seen, plays));
      const isSteady = subject.isSteady && changes.length === 0;
      if (isSteady && !hasError()) strength = await graderStrength(subject, bench, { tools, answerCounts, most });
      found.push(...(strength?.found ?? []));
    }
    for (const played of plays) {
      found.push(...illTold(subject.task, played, bench));
    }
    return { subject, found, paidIdle, answerCounts, strength };
  }
}

/** Calls that no schema allows must end as results, whatever they are. */
function crashOf({ task }: Subject, played: Played): readonly Found[] {
  const { error } = played.trace;
  if (error?.boundary !== 'environment') return [];
  const message = `A wrong call of an agent ends the environment: ${error.message}`;
  return [{ finding: 'random', level: 'error', task, played, message }];
}
