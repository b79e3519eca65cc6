import type { Comparison } from '../../../contract/service/evaluation.ts';
import { meanText } from '../../../support/text/figures.ts';

/** One sentence: who is better and by how much, or that it cannot be said. */
export function verdictOf(comparison: Comparison): string {
  const { a_model, b_model } = comparison;
  return a_model === b_model
    ? `${a_model}: ${sentenceOf(comparison, 'A', 'B')}`
    : sentenceOf(comparison, a_model, b_model);
}

function sentenceOf({ difference, ci95, n_tasks }: Comparison, a: string, b: string): string {
  if (difference === null) return 'no task has a reward on both sides';
  const size = meanText(Math.abs(difference), ci95);
  if (ci95 === null)
    return `${b} is ${difference < 0 ? 'lower' : 'higher'} than ${a} by ${size}, on too few tasks (${n_tasks}) for an interval`;
  if (ci95[0] > 0) return `${b} is better than ${a} by ${size}`;
  if (ci95[1] < 0) return `${b} is worse than ${a} by ${size}`;
  return `no difference can be told between ${b} and ${a}`;
}
