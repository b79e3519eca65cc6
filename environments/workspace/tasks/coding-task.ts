import type { SolutionCall } from 'proctor';
import type { HiddenTest } from '../grading/hidden-test.ts';

/** A task on a small JavaScript module, which needs nothing but Node. */
export interface CodingTask {
  readonly id: string;
  /** What is asked of the agent. */
  readonly request: string;
  /** What it begins with, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Tests that it may see, by path: a part of what is asked. */
  readonly visibleTests: Readonly<Record<string, string>>;
  /** The module that hidden tests load. */
  readonly module: string;
  readonly hiddenTests: readonly HiddenTest[];
  /** Calls that do all that is asked. */
  readonly solution: readonly SolutionCall[];
}
