import type { Step } from '../../contract/service/trace.ts';

/** True for a step of the main conversation. Seats also have side conversations, such as titles and sub-agents. */
export function isMain({ branch }: Pick<Step, 'branch'>): boolean {
  return branch === undefined || branch === null;
}
