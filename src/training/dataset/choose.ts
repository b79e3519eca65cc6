import { createHash } from 'node:crypto';
import type { DatasetSelect } from '../../contract/service/dataset.ts';
import { type Candidate, type ChosenLine, compareTraces } from './candidate.ts';
import type { StepCounts } from './counts.ts';

type Rule = Pick<DatasetSelect, 'choose' | 'max_per_task' | 'seed'>;
type Order = (one: Candidate, other: Candidate) => number;

/** Chooses at most `max_per_task` traces of each task, in the order of the rule. */
export function chooseTraces(candidates: readonly Candidate[], rule: Rule, counts: StepCounts): ChosenLine[] {
  const order = orderOf(rule);
  return [...byTask(candidates).values()].flatMap((ofTask) => {
    const chosen = ofTask.toSorted(order).slice(0, rule.max_per_task);
    counts.kept(chosen.length);
    counts.dropped('over_max_per_task', ofTask.length - chosen.length);
    return chosen.map((trace) => ({ trace }));
  });
}

/** Pairs the best success of each task with its failures, at most `max_per_task` of them. */
export function choosePairs(
  candidates: readonly Candidate[],
  rule: Rule & Pick<DatasetSelect, 'min_reward'>,
  counts: StepCounts,
): ChosenLine[] {
  return [...byTask(candidates).values()].flatMap((ofTask) => {
    const successes = ofTask.filter(({ reward }) => reward >= rule.min_reward);
    const failures = ofTask.filter(({ reward }) => reward < rule.min_reward);
    const [best] = successes.toSorted(BEST);
    if (best === undefined) counts.dropped('no_success', failures.length);
    else if (failures.length === 0) counts.dropped('no_failure', successes.length);
    if (best === undefined || failures.length === 0) return [];
    const chosen = failures.toSorted(orderOf(rule)).slice(0, rule.max_per_task);
    counts.paired(chosen.length + 1, chosen.length);
    counts.dropped('other_success', successes.length - 1);
    counts.dropped('over_max_per_task', failures.length - chosen.length);
    return chosen.map((rejected) => ({ trace: best, rejected }));
  });
}

function byTask(candidates: readonly Candidate[]): ReadonlyMap<string, Candidate[]> {
  const tasks = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const known = tasks.get(candidate.taskKey);
    if (known === undefined) tasks.set(candidate.taskKey, [candidate]);
    else known.push(candidate);
  }
  return tasks;
}

function orderOf({ choose, seed }: Rule): Order {
  if (choose === 'shortest') return SHORTEST;
  if (choose === 'best') return BEST;
  return (one, other) => (drawn(seed, one.traceId) < drawn(seed, other.traceId) ? -1 : 1);
}

const SHORTEST: Order = (one, other) =>
  one.modelCalls - other.modelCalls || one.tokens - other.tokens || compareTraces(one, other);
const BEST: Order = (one, other) => other.reward - one.reward || SHORTEST(one, other);

/** A pseudo-random sort key for a text, from a seed. */
function drawn(seed: number, text: string): string {
  return createHash('sha256').update(`${seed}\n${text}`).digest('hex');
}

/** A pseudo-random number for a text, from a seed: at least 0 and below 1. */
export function shareOf(seed: number, text: string): number {
  return createHash('sha256').update(`${seed}\n${text}`).digest().readUInt32BE(0) / 2 ** 32;
}
