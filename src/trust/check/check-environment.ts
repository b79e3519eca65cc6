import type { EnvironmentTarget } from '../../client/environment-client.ts';
import type { FindingName } from '../../contract/check.ts';
import { messageOf } from '../../contract/errors.ts';
import { Bench } from './bench.ts';
import { bounded } from './bounded.ts';
import { Budget } from './budget.ts';
import { EnvironmentCheck } from './environment-check.ts';
import type { Found } from './finding.ts';
import { mergeFound } from './merge-found.ts';
import { Places } from './places.ts';
import { NothingToCheck, type OnlyTasks, readEnvironment } from './read-environment.ts';

export interface CheckSettings {
  readonly name: string;
  readonly typedName: string;
  readonly target: EnvironmentTarget;
  readonly tasks: number;
  readonly seed: number;
  readonly threshold: number;
  readonly limitMs: number;
  readonly maxMs: number;
  readonly only: OnlyTasks;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

/** How far the check of one environment is. */
export interface CheckProgress {
  readonly environment: string;
  /** Sessions that were played. */
  readonly sessions: number;
  /** Milliseconds since its check began, and those that it may take. */
  readonly elapsedMs: number;
  readonly maxMs: number;
  /** The task of the last session, such as `count_to/three`. */
  readonly task: string;
}

export interface EnvironmentChecked {
  readonly found: readonly Found[];
  readonly mayShare: boolean | null;
  readonly scenarios: readonly { readonly name: string; readonly tasks: number }[];
  /** The command that checks it again. */
  readonly command: string;
}

/** Rewards out of bounds that are looked at: they are told as one. */
const MAX_REWARDS = 1_000;
/** Sessions of them that are kept, for the one that is shown: their results may be large. */
const MAX_KEPT = 50;

/** Tries one environment. @throws the reason of the signal. */
export async function checkEnvironment(settings: CheckSettings): Promise<EnvironmentChecked> {
  const { name, target, maxMs, signal, onProgress } = settings;
  const budget = new Budget(maxMs);
  const places = new Places(target);
  let sessions = 0;
  const rewards: Found[] = [];
  const bench: Bench = new Bench({
    ...{ ...settings, places, budget },
    onPlayed: (task, played) => {
      sessions += 1;
      const shown = `${task.scenario.short_name}/${task.id}`;
      onProgress?.({ environment: name, sessions, elapsedMs: maxMs - budget.leftMs, maxMs, task: shown });
      if (rewards.length >= MAX_REWARDS) return;
      const found = bounded(task, played, bench);
      rewards.push(...(rewards.length < MAX_KEPT ? found : found.map((each) => ({ ...each, played: undefined }))));
    },
  });
  const command = bench.checkCommand();
  try {
    const facts = await readEnvironment(target, settings);
    const { found, mayShare } = await new EnvironmentCheck(bench, target, facts).run();
    const scenarios = facts.scenarios.map(({ entry, tasks }) => ({ name: entry.short_name, tasks: tasks.length }));
    const all = mergeFound([...found, ...rewards, ...budget.notes()]);
    return { found: all.map((each) => withCommand(each, bench)), mayShare, scenarios, command };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof NothingToCheck ? error.message : `It cannot be started: ${messageOf(error)}`;
    return { found: [{ finding: 'start', level: 'error', message }], mayShare: null, scenarios: [], command };
  } finally {
    await places.close();
  }
}

/** Findings that need more than the one task that they name. */
const OF_SEVERAL: readonly FindingName[] = ['isolated', 'order', 'clean'];

function withCommand(found: Found, bench: Bench): Found {
  const { finding, task, reproduce } = found;
  if (reproduce !== undefined || task === undefined || OF_SEVERAL.includes(finding)) return found;
  return { ...found, reproduce: bench.checkCommand(task) };
}
