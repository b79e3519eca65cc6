import { availableParallelism } from 'node:os';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { messageOf } from '../../contract/errors.ts';
import { Bench } from './bench.ts';
import type { CheckTask, Found, Subject, TaskFinding } from './finding.ts';
import { idle } from './idle.ts';
import { inParallel } from './in-parallel.ts';
import { Places } from './places.ts';
import { type EnvironmentFacts, readEnvironment } from './read-environment.ts';
import { judgeSolution } from './solvable.ts';

export interface CheckSettings {
  readonly name: string;
  readonly typedName: string;
  readonly target: EnvironmentTarget;
  readonly tasks: number;
  readonly seed: number;
  readonly threshold: number;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: CheckProgress) => void) | undefined;
}

/** How far the check of one environment is. */
export interface CheckProgress {
  readonly environment: string;
  /** Sessions that were played. */
  readonly sessions: number;
}

export interface EnvironmentChecked {
  readonly found: readonly Found[];
  readonly mayShare: boolean | null;
  readonly scenarios: readonly { readonly name: string; readonly tasks: number }[];
  /** The command that checks it again. */
  readonly command: string;
}

/** Tries one environment. @throws the reason of the signal. */
export async function checkEnvironment(settings: CheckSettings): Promise<EnvironmentChecked> {
  const { name, target, signal, onProgress } = settings;
  const places = new Places(target);
  let sessions = 0;
  const onPlayed = () => onProgress?.({ environment: name, sessions: ++sessions });
  const bench = new Bench({ ...settings, places, onPlayed });
  const command = bench.checkCommand();
  try {
    const facts = await readEnvironment(target, settings);
    const check = new EnvironmentCheck(bench, facts);
    const { found, mayShare } = await check.run();
    const scenarios = facts.scenarios.map(({ entry, tasks }) => ({ name: entry.short_name, tasks: tasks.length }));
    return { found, mayShare, scenarios, command };
  } catch (error) {
    signal.throwIfAborted();
    const message = `It cannot be started: ${messageOf(error)}`;
    return { found: [{ finding: 'start', level: 'error', message }], mayShare: null, scenarios: [], command };
  } finally {
    await places.close();
  }
}

const TASK_FINDINGS: readonly TaskFinding[] = [idle];

class EnvironmentCheck {
  readonly #bench: Bench;
  readonly #facts: EnvironmentFacts;
  readonly #found: Found[] = [];

  constructor(bench: Bench, facts: EnvironmentFacts) {
    this.#bench = bench;
    this.#facts = facts;
  }

  async run(): Promise<{ readonly found: readonly Found[]; readonly mayShare: boolean | null }> {
    const subjects = await this.#solveAll();
    await inParallel(subjects, availableParallelism(), async (subject) => {
      for (const finding of TASK_FINDINGS) this.#found.push(...(await finding(subject, this.#bench)));
    });
    return { found: this.#found, mayShare: null };
  }

  async #solveAll(): Promise<readonly Subject[]> {
    const subjects: Subject[] = [];
    for (const { entry, tasks, problem } of this.#facts.scenarios) {
      if (problem !== undefined) {
        this.#found.push({ finding: 'start', level: 'warning', scenario: entry.short_name, message: problem });
      }
      subjects.push(...(await this.#solveScenario(tasks)));
    }
    return subjects;
  }

  /** One that cannot be set up ends the tries of its scenario. */
  async #solveScenario(tasks: readonly CheckTask[]): Promise<readonly Subject[]> {
    const subjects: Subject[] = [];
    for (const task of tasks) {
      const { played, state, found } = judgeSolution(
        this.#bench,
        task,
        await this.#bench.play(task, { model: 'proctor/oracle' }),
      );
      this.#found.push(...found);
      if (state === 'not set up') return subjects;
      subjects.push({ task, solved: played, isSteady: state === 'solved' });
    }
    return subjects;
  }
}
