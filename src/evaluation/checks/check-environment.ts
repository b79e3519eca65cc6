import { messageOf } from '../../contract/errors.ts';
import type { CheckedEnvironment, CheckProgress, FindingName } from '../../contract/service/check.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { Secret } from '../../support/redaction/redactor.ts';
import { Budget } from './budget.ts';
import { Coverage } from './coverage.ts';
import { EnvironmentCheck } from './environment-check.ts';
import type { Finding } from './finding.ts';
import { mergeFindings } from './merge-found.ts';
import { bounded } from './player/bounded.ts';
import { SessionLaunchers } from './player/session-launchers.ts';
import { SessionPlayer } from './player/session-player.ts';
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
  readonly keys: readonly Secret[];
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

export interface EnvironmentChecked {
  readonly found: readonly Finding[];
  readonly mayShare: boolean | null;
  readonly tried: CheckedEnvironment['tried'];
  readonly scenarios: readonly { readonly name: string; readonly tasks: number }[];
  /** The command that checks it again. */
  readonly command: string;
}

/** Most rewards out of bounds that are examined. The report shows them as one finding. */
const MAX_REWARDS = 1_000;
/** Most of their sessions that are kept, because their results may be large. */
const MAX_KEPT = 50;

/** Tries one environment. @throws the reason of the signal. */
export async function checkEnvironment(settings: CheckSettings): Promise<EnvironmentChecked> {
  const { name, target, maxMs, signal, onProgress } = settings;
  const coverage = new Coverage();
  const budget = new Budget(maxMs, coverage);
  const places = new SessionLaunchers(target);
  let sessions = 0;
  const rewards: Finding[] = [];
  const bench: SessionPlayer = new SessionPlayer({
    ...settings,
    places,
    budget,
    coverage,
    onPlayed: (task, played) => {
      sessions += 1;
      const shown = `${task.scenario.short_name}/${task.id}`;
      onProgress?.({ environment: name, sessions, elapsed_ms: maxMs - budget.leftMs, max_ms: maxMs, task: shown });
      if (played.trace.evaluation !== null) coverage.tried('bounded', { task });
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
    const names = scenarios.filter(({ tasks }) => tasks > 0).map((scenario) => scenario.name);
    coverage.close(names, budget.leftMs === 0 ? budget.reason : 'no task of it could be played');
    const all = [...mergeFindings([...found, ...rewards]), ...coverage.notes()];
    const tried = [...coverage.states(all)];
    return { found: all.map((each) => withCommand(each, bench)), mayShare, tried, scenarios, command };
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof NothingToCheck ? error.message : `It cannot be started: ${messageOf(error)}`;
    const start: Finding = { finding: 'start', level: 'error', message };
    coverage.tried('start');
    coverage.close([], error instanceof NothingToCheck ? 'there is no such task' : 'it cannot be started');
    const found = [start, ...coverage.notes()];
    return { found, mayShare: null, tried: [...coverage.states(found)], scenarios: [], command };
  } finally {
    await places.close();
  }
}

/** Findings that cannot be reproduced with the one task that they name. */
const OF_SEVERAL: readonly FindingName[] = ['isolated', 'order', 'clean'];

function withCommand(found: Finding, bench: SessionPlayer): Finding {
  const { finding, task, reproduce } = found;
  if (reproduce !== undefined || task === undefined || OF_SEVERAL.includes(finding)) return found;
  return { ...found, reproduce: bench.checkCommand(task) };
}
