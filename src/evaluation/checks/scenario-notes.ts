import type { AgentToolEntry } from '../../environment/client/environment-client.ts';
import type { Finding } from './finding.ts';
import type { SessionPlayer } from './player/session-player.ts';
import { trajectoryOf } from './player/trajectory.ts';
import type { CheckedScenario } from './read-environment.ts';
import type { TaskChecked } from './task-check.ts';
import { listOf, type PaidReason } from './tries/grader-strength.ts';

/** Most tasks that a message names. */
const MAX_NAMED = 6;

/**
 * Findings about tasks that reward idleness. If the solution changes nothing either, and other tasks of the scenario do
 * not reward idleness, doing nothing is right. That is only a warning: an idle agent gets the reward of all such tasks.
 */
export function idleFindings(
  results: readonly TaskChecked[],
  tasks: number,
  tools: ReadonlyMap<string, AgentToolEntry>,
): readonly Finding[] {
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

const REASONS: Readonly<Record<PaidReason, string>> = {
  'read-only': 'of a read-only tool',
  idempotent: 'repeat an idempotent call',
  refused: 'were refused by the environment',
  'another order': 'in another order, which does not matter: the end is the same',
};

/** Notes about changed solutions: how many lost the reward, and how many kept it for a good reason. */
export function strengthNotes(
  { entry }: CheckedScenario,
  results: readonly TaskChecked[],
  bench: SessionPlayer,
): readonly Finding[] {
  const strengths = results.flatMap(({ strength }) => (strength === undefined ? [] : [strength]));
  const played = strengths.reduce((sum, each) => sum + each.played, 0);
  if (played === 0) return [];
  const survivors = strengths.flatMap((each) => each.survivors);
  const allowed = strengths.flatMap((each) => each.allowed);
  const paid = survivors.length + allowed.length;
  const groups = (Object.keys(REASONS) as PaidReason[]).map((reason) => ({
    text: REASONS[reason],
    labels: allowed.filter((each) => each.reason === reason).map(({ label }) => label),
  }));
  const parts = groups
    .filter(({ labels }) => labels.length > 0)
    .map(({ text, labels }) => ` ${labels.length} ${text}: ${listOf(labels)}.`);
  const warned = survivors.length === 0 ? '' : ` ${survivors.length} should not be: ${listOf(survivors)}.`;
  const message = `${played - paid} of the ${played} changes of its solutions that were played lose the reward, ${paid} are paid.${warned}${parts.join('')}`;
  const { short_name: scenario } = entry;
  const reproduce = bench.checkCommand({ scenario: entry });
  return [{ finding: 'grader_strength', level: 'note', scenario, message, reproduce }];
}
