import { setMaxListeners } from 'node:events';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import type {
  CheckedEnvironment,
  CheckFinding,
  CheckProgress,
  CheckReport,
  FindingLevel,
} from '../../contract/service/check.ts';
import { findingNameSchema } from '../../contract/service/check.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { Secret } from '../../support/redaction/redactor.ts';
import { checkEnvironment } from './check-environment.ts';
import { CHECK_DEFAULTS } from './defaults.ts';
import { countFindings, type Finding } from './finding.ts';
import type { PlayedSession } from './player/play.ts';
import { type PlayedStore, savePlayed } from './player/save-played.ts';
import type { OnlyTasks } from './read-environment.ts';

export interface CheckOptions {
  /** Most tasks of each scenario. Default 5. */
  readonly tasks?: number | undefined;
  /** Picks the tasks, and seeds environments and agents. Default 0. */
  readonly seed?: number | undefined;
  /** Least reward that passes. Default 1. */
  readonly passThreshold?: number | undefined;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. Default 30,000. */
  readonly limitMs?: number | undefined;
  /**
   * Milliseconds for each environment. Tries that have not begun by then are left out and listed in notes. Default
   * 300,000.
   */
  readonly maxMs?: number | undefined;
  /** The only scenario, and its only task, to check. Default: all. */
  readonly only?: OnlyTasks | undefined;
  /** Keys of gateways, trainers and the service, which no environment process may hold. Default: no known keys. */
  readonly keys?: readonly Secret[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Stores the traces that findings show. */
  readonly store?: PlayedStore | undefined;
  /** Account of those traces. Default `local`. */
  readonly account?: string | undefined;
  /** Called for each trace that cannot be stored. Its finding has no trace then; the report is still complete. */
  readonly onUnkept?: ((error: unknown) => void) | undefined;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
  /** Called with the result of each environment; the next one waits for it. */
  readonly onChecked?: ((checked: CheckedEnvironment) => Promise<void>) | undefined;
}

export interface EnvironmentToCheck {
  readonly name: string;
  /** Name as the user typed it, for commands. Default: the name. */
  readonly typedName?: string | undefined;
  readonly target: EnvironmentTarget;
}

/**
 * Checks environments one after the other, and reports everything that makes their rewards unreliable.
 *
 * @throws the signal's reason. A failure of an environment is a finding.
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
  const { limitMs = CHECK_DEFAULTS.limitMs, maxMs = CHECK_DEFAULTS.maxMs, only = {}, keys = [], onProgress } = options;
  // A separate signal, because each session adds a listener to it.
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
      const settings = { name, typedName, target, ...amounts, keys, signal, onProgress };
      const { found, mayShare, tried, scenarios, command } = await checkEnvironment(settings);
      const findings: CheckFinding[] = [];
      for (const each of inOrder(found)) findings.push(await toFinding(each, command, options));
      const result = { name, may_share_process: mayShare, scenarios: [...scenarios], tried, findings };
      checked.push(result);
      await options.onChecked?.(result);
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

type Keeping = Pick<CheckOptions, 'store' | 'account' | 'onUnkept'>;

async function toFinding(found: Finding, command: string, keeping: Keeping): Promise<CheckFinding> {
  const { finding, level, task, message, reproduce = command, played, isUntried = false } = found;
  return {
    finding,
    level,
    scenario: task?.scenario.short_name ?? found.scenario ?? null,
    task: task?.id ?? null,
    message,
    reproduce,
    trace_id: played === undefined ? null : await keep(played, keeping),
    untried: isUntried,
  };
}

/** Stores a trace. @returns its id; null if it could not be stored. */
async function keep(
  played: PlayedSession,
  { store, account = LOCAL_ACCOUNT, onUnkept }: Keeping,
): Promise<string | null> {
  if (store === undefined) return null;
  try {
    return await savePlayed(store, account, played);
  } catch (error) {
    onUnkept?.(error);
    return null;
  }
}

function inOrder(found: readonly Finding[]): readonly Finding[] {
  const levels: readonly FindingLevel[] = ['error', 'warning', 'note'];
  const names = findingNameSchema.options;
  const rank = ({ level, finding }: Finding) => levels.indexOf(level) * names.length + names.indexOf(finding);
  return [...found].sort((a, b) => rank(a) - rank(b));
}
