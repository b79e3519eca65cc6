import type { CheckFinding, FindingCounts, FindingLevel, FindingName } from '../../contract/check.ts';
import type { JsonObject } from '../../contract/json.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import type { Played } from './play.ts';

/** A task that is tried. */
export interface CheckTask {
  /** Unique in its scenario. */
  readonly id: string;
  readonly scenario: ScenarioEntry;
  readonly args: JsonObject;
  /** Lines of its simulated user. */
  readonly userScript?: readonly string[] | undefined;
  /** False: its arguments were drawn from the schema. */
  readonly isDeclared: boolean;
}

/** A task with the run of its solution. */
export interface Subject {
  readonly task: CheckTask;
  readonly solved: Played;
  /** `no solution`: calls by chance were played in its place. */
  readonly state: 'solved' | 'unsolved' | 'no solution';
  /** True where it may be compared with further runs: no call of it failed, and a second one was the same. */
  readonly isSteady: boolean;
}

/** The words of a finding, before it is written into the report. */
export interface Found {
  readonly finding: FindingName;
  readonly level: FindingLevel;
  /** Undefined: it is about the environment, or about the scenario `scenario`. */
  readonly task?: CheckTask | undefined;
  /** Short name. */
  readonly scenario?: string | undefined;
  readonly message: string;
  /** A command that shows it again. Default: the check itself. */
  readonly reproduce?: string | undefined;
  /** The session that shows it. */
  readonly played?: Played | undefined;
}

/** How many there are of each level. */
export function countFindings(findings: readonly Pick<CheckFinding, 'level'>[]): FindingCounts {
  const counts = { error: 0, warning: 0, note: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}
