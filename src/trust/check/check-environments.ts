import { setMaxListeners } from 'node:events';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import type { CheckedEnvironment, CheckFinding, CheckReport, FindingLevel } from '../../contract/check.ts';
import { findingNameSchema } from '../../contract/check.ts';
import { type CheckProgress, checkEnvironment } from './check-environment.ts';
import { CHECK_DEFAULTS } from './defaults.ts';
import { countFindings, type Found } from './finding.ts';
import type { Played } from './play.ts';
import type { OnlyTasks } from './read-environment.ts';
import { type PlayedStore, savePlayed } from './save-played.ts';

export interface CheckOptions {
  /** Tasks of each scenario, at most. Default 5. */
  readonly tasks?: number | undefined;
  /** Picks the tasks, and seeds environments and agents. Default 0. */
  readonly seed?: number | undefined;
  /** A reward from here on passes. Default 1. */
  readonly passThreshold?: number | undefined;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. Default 30,000. */
  readonly limitMs?: number | undefined;
  /** Milliseconds for each environment: what has not begun by then is left out, and named by notes. Default 300,000. */
  readonly maxMs?: number | undefined;
  /** The one scenario, and the one task of it, that are tried. Default: all. */
  readonly only?: OnlyTasks | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Keeps the traces that findings show. */
  readonly store?: PlayedStore | undefined;
  /** Told of each trace that cannot be kept: its finding has none, and the report is whole all the same. */
  readonly onUnkept?: ((error: unknown) => void) | undefined;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

export interface EnvironmentToCheck {
  readonly name: string;
  /** As it was typed, for commands. Default: the name. */
  readonly typedName?: string | undefined;
  readonly target: EnvironmentTarget;
}

/**
 * Tries environments, one after the other, and tells everything that makes their rewards mean less than they say.
 *
 * @throws the reason of the signal. What an environment does is a finding.
 */
export async function checkEnvironments(
  environments: readonly EnvironmentToCheck[],
  options: CheckOptions = {},
): Promise<CheckReport> {
  const {
    tasks = CHECK_DEFAULTS.tasks,
    seed = CHECK_DEFAULTS.seed,
    passThreshold: threshold = CHECK_DEFAULTS.threshold,
  } = options;
  const { limitMs = CHECK_DEFAULTS.limitMs, maxMs = CHECK_DEFAULTS.maxMs, only = {}, onProgress } = options;
  // One of its own: each session listens to it.
  const own = new AbortController();
  setMaxListeners(0, own.signal);
  const stop = () => own.abort(options.signal?.reason);
  options.signal?.addEventListener('abort', stop, { once: true });
  if (options.signal?.aborted) stop();
  const { signal } = own;
  try {
    const checked: CheckedEnvironment[] = [];
    for (const { name, typedName = name, target } of environments) {
      const amounts = { tasks, seed, threshold, limitMs, maxMs, only };
      const settings = { name, typedName, target, ...amounts, signal, onProgress };
      const { found, mayShare, scenarios, command } = await checkEnvironment(settings);
      const findings: CheckFinding[] = [];
      for (const each of inOrder(found)) findings.push(await toFinding(each, command, options));
      checked.push({ name, may_share_process: mayShare, scenarios: [...scenarios], findings });
    }
    return {
      object: 'check',
      environments: checked,
      counts: countFindings(checked.flatMap(({ findings }) => findings)),
    };
  } finally {
    options.signal?.removeEventListener('abort', stop);
  }
}

/** Commands are those of one person, whose traces and reports have this account. */
export const CHECKS_ACCOUNT = 'local';

type Keeping = Pick<CheckOptions, 'store' | 'onUnkept'>;

async function toFinding(found: Found, command: string, keeping: Keeping): Promise<CheckFinding> {
  const { finding, level, task, message, reproduce = command, played } = found;
  return {
    finding,
    level,
    scenario: task?.scenario.short_name ?? found.scenario ?? null,
    task: task?.id ?? null,
    message,
    reproduce,
    trace_id: played === undefined ? null : await keep(played, keeping),
  };
}

/** @returns its id; null where it is not kept. */
async function keep(played: Played, { store, onUnkept }: Keeping): Promise<string | null> {
  if (store === undefined) return null;
  try {
    return await savePlayed(store, CHECKS_ACCOUNT, played);
  } catch (error) {
    onUnkept?.(error);
    return null;
  }
}

function inOrder(found: readonly Found[]): readonly Found[] {
  const levels: readonly FindingLevel[] = ['error', 'warning', 'note'];
  const names = findingNameSchema.options;
  const rank = ({ level, finding }: Found) => levels.indexOf(level) * names.length + names.indexOf(finding);
  return [...found].sort((a, b) => rank(a) - rank(b));
}
