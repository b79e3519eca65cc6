import type { EnvironmentTarget } from '../../client/environment-client.ts';
import type { CheckedEnvironment, CheckFinding, CheckReport, FindingLevel } from '../../contract/check.ts';
import { findingNameSchema } from '../../contract/check.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import { type CheckProgress, checkEnvironment } from './check-environment.ts';
import { countFindings, type Found } from './finding.ts';
import { savePlayed } from './save-played.ts';

export interface CheckOptions {
  /** Tasks of each scenario, at most. Default 5. */
  readonly tasks?: number | undefined;
  /** Picks the tasks, and seeds environments and agents. Default 0. */
  readonly seed?: number | undefined;
  /** A reward from here on passes. Default 1. */
  readonly passThreshold?: number | undefined;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. Default 30,000. */
  readonly limitMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Keeps the traces that findings show. */
  readonly store?: TraceStore | undefined;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

export interface EnvironmentToCheck {
  readonly name: string;
  /** As it was typed, for commands. Default: the name. */
  readonly typedName?: string | undefined;
  readonly target: EnvironmentTarget;
}

const DEFAULTS = { tasks: 5, seed: 0, threshold: 1, limitMs: 30_000 } as const;

/**
 * Tries environments, one after the other, and tells everything that makes their rewards mean less than they say.
 *
 * @throws the reason of the signal; what the store fails with. What an environment does is a finding.
 */
export async function checkEnvironments(
  environments: readonly EnvironmentToCheck[],
  options: CheckOptions = {},
): Promise<CheckReport> {
  const { tasks = DEFAULTS.tasks, seed = DEFAULTS.seed, passThreshold = DEFAULTS.threshold } = options;
  const { limitMs = DEFAULTS.limitMs, signal = new AbortController().signal, store, onProgress } = options;
  const checked: CheckedEnvironment[] = [];
  for (const { name, typedName = name, target } of environments) {
    const settings = { name, typedName, target, tasks, seed, threshold: passThreshold, limitMs, signal, onProgress };
    const { found, mayShare, scenarios, command } = await checkEnvironment(settings);
    const findings: CheckFinding[] = [];
    for (const each of inOrder(found)) findings.push(await toFinding(each, command, store));
    checked.push({ name, may_share_process: mayShare, scenarios: [...scenarios], findings });
  }
  return { object: 'check', environments: checked, counts: countFindings(checked.flatMap(({ findings }) => findings)) };
}

/** Commands are those of one person, whose traces and reports have this account. */
export const CHECKS_ACCOUNT = 'local';

async function toFinding(found: Found, command: string, store: TraceStore | undefined): Promise<CheckFinding> {
  const { finding, level, task, message, reproduce = command, played } = found;
  return {
    finding,
    level,
    scenario: task?.scenario.short_name ?? found.scenario ?? null,
    task: task?.id ?? null,
    message,
    reproduce,
    trace_id: played === undefined || store === undefined ? null : await savePlayed(store, CHECKS_ACCOUNT, played),
  };
}

function inOrder(found: readonly Found[]): readonly Found[] {
  const levels: readonly FindingLevel[] = ['error', 'warning', 'note'];
  const names = findingNameSchema.options;
  const rank = ({ level, finding }: Found) => levels.indexOf(level) * names.length + names.indexOf(finding);
  return [...found].sort((a, b) => rank(a) - rank(b));
}
