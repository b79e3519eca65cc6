import type { AgentToolEntry } from '../../client/environment-client.ts';
import type { Bench } from './bench.ts';
import type { Found } from './finding.ts';
import type { CheckedScenario } from './read-environment.ts';
import type { TaskChecked } from './task-check.ts';
import { trajectoryOf } from './trajectory.ts';

/** Tasks that a message names. */
const MAX_NAMED = 6;

/**
 * Tasks that pay for idleness. Where their solution changes nothing either, and other tasks of the scenario do not pay
 * for it, doing nothing is right in them, which is a warning: an agent that does nothing is paid for as many as there are.
 */
export function idleFindings(
  results: readonly TaskChecked[],
  tasks: number,
  tools: ReadonlyMap<string, AgentToolEntry>,
): readonly Found[] {
  const paid = results.filter(({ paidIdle }) => paidIdle.some(({ level }) => level === 'error'));
  const isRight = ({ subject, answerCounts }: TaskChecked) =>
    answerCounts === false &&
    paid.length < tasks &&
    trajectoryOf(subject.solved).calls.every(({ name }) => tools.get(name)?.annotations.readOnlyHint === true);
  const right = paid.filter(isRight);
  const others = results.filter((result) => !right.includes(result)).flatMap(({ paidIdle }) => paidIdle);
  const [first] = right;
  if (first === undefined) return others;
  const ids = right.map(({ subject }) => subject.task.id);
  const named = `${ids.slice(0, MAX_NAMED).join(', ')}${ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} more` : ''}`;
  const message = `Doing nothing is right in ${right.length} of ${tasks} tasks (${named}): an agent that does nothing is paid for them.`;
  const { task, scenario, played, reproduce } = first.paidIdle[0] ?? {};
  return [...others, { finding: 'idle', level: 'warning', task, scenario, played, reproduce, message }];
}

/** How many changes of the solutions lost the reward. */
export function strengthNotes(
  { entry }: CheckedScenario,
  results: readonly TaskChecked[],
  bench: Bench,
): readonly Found[] {
  const strengths = results.flatMap(({ strength }) => (strength === undefined ? [] : [strength]));
  const played = strengths.reduce((sum, each) => sum + each.played, 0);
  if (played === 0) return [];
  const equivalent = strengths.reduce((sum, each) => sum + each.equivalent, 0);
  const survivors = strengths.reduce((sum, each) => sum + each.survivors, 0);
  const lost = played - equivalent - survivors;
  const same = equivalent === 0 ? '' : ` ${equivalent} more change nothing.`;
  const message = `${lost} of ${played - equivalent} changes of its solutions lose the reward.${same}`;
  const { short_name: scenario } = entry;
  const reproduce = bench.checkCommand({ scenario: entry });
  return [{ finding: 'grader_strength', level: 'note', scenario, message, reproduce }];
}
