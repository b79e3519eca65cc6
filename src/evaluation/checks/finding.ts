import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { CheckFinding, FindingCounts, FindingLevel, FindingName } from '../../contract/service/check.ts';
import type { PlayedSession } from './player/play.ts';

/** A task to try. */
export interface CheckTask {
  /** Unique in its scenario. */
  readonly id: string;
  readonly scenario: ScenarioEntry;
  readonly args: JsonObject;
  /** Lines of the simulated user. */
  readonly userScript?: readonly string[] | undefined;
  /** False if the arguments were drawn from the schema. */
  readonly isDeclared: boolean;
}

/** A task with the run of its solution. */
export interface Subject {
  readonly task: CheckTask;
  readonly solved: PlayedSession;
  /** `no solution`: random calls were played instead. */
  readonly state: 'solved' | 'unsolved' | 'no solution';
  /** True if later runs may be compared with it: no call failed, and a second run was the same. */
  readonly isSteady: boolean;
}

/** A finding before it is written into the report. */
export interface Finding {
  readonly finding: FindingName;
  readonly level: FindingLevel;
  /** Task of the finding; undefined if it is about the environment or about `scenario`. */
  readonly task?: CheckTask | undefined;
  /** Short name. */
  readonly scenario?: string | undefined;
  readonly message: string;
  /** Command that shows the finding again. Default: the check itself. */
  readonly reproduce?: string | undefined;
  /** True for a note that a finding was not tried, or not completely. Default false. */
  readonly isUntried?: boolean | undefined;
  /** Session that shows the finding. */
  readonly played?: PlayedSession | undefined;
}

/** Counts the findings of each level. */
export function countFindings(findings: readonly Pick<CheckFinding, 'level'>[]): FindingCounts {
  const counts = { error: 0, warning: 0, note: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}
