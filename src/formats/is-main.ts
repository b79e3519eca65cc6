import type { Step } from '../contract/trace.ts';

/** True for a step of the main conversation: a seat has others beside it, such as titles and sub-agents. */
export function isMain({ branch }: Pick<Step, 'branch'>): boolean {
  return branch === undefined || branch === null;
}
