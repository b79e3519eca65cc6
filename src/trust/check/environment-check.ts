import { availableParallelism } from 'node:os';
import type { AgentToolEntry, EnvironmentTarget } from '../../client/environment-client.ts';
import type { FindingName } from '../../contract/check.ts';
import type { Bench } from './bench.ts';
import { clean } from './clean.ts';
import { playClumsily } from './clumsy.ts';
import { undescribed, warning } from './described.ts';
import { deterministic } from './deterministic.ts';
import { describeSmallEffort, effortFor, SMALL_EFFORT } from './effort.ts';
import type { CheckTask, Found, Subject } from './finding.ts';
import { forgeLoot, forgeRoutes } from './forger.ts';
import { inParallel } from './in-parallel.ts';
import type { Pair, PlayAgain } from './isolated.ts';
import type { CheckedScenario, EnvironmentFacts } from './read-environment.ts';
import { idleFindings, strengthNotes } from './scenario-notes.ts';
import { seenByAgents } from './seen-by-agents.ts';
import { type Sharing, trySharing } from './sharing.ts';
import { judgeSolution } from './solvable.ts';
import { TaskCheck, type TaskChecked, type TaskCheckParts } from './task-check.ts';

/** Tasks of a scenario that are tried alone first, in processes of their own. */
const PROBES = 2;

/** Everything that is tried with each task that was set up. */
const OF_A_TASK: readonly FindingName[] = ['idle', 'random', 'echo', 'leak', 'forger', 'grader_strength'];

/** A scenario whose tasks are being tried. */
interface Scenario {
  readonly checked: CheckedScenario;
  readonly subjects: Subject[];
  readonly results: TaskChecked[];
  /** Everything that all of its tasks are tried with, once the first was. */
  parts: TaskCheckParts | undefined;
  /** False: none of its tasks is tried any further. */
  isOpen: boolean;
}

/**
 * The check of one environment, from what is tried in processes of their own to what is tried wherever it is cheap: what
 * sessions share is known before hundreds of them share a process.
 */
export class EnvironmentCheck {
  readonly #bench: Bench;
  readonly #target: EnvironmentTarget;
  readonly #facts: EnvironmentFacts;
  readonly #found: Found[] = [];

  constructor(bench: Bench, target: EnvironmentTarget, facts: EnvironmentFacts) {
    this.#bench = bench;
    this.#target = target;
    this.#facts = facts;
  }

  async run(): Promise<{ readonly found: readonly Found[]; readonly mayShare: boolean | null }> {
    const scenarios = this.#facts.scenarios.map(
      (checked): Scenario => ({ checked, subjects: [], results: [], isOpen: true, parts: undefined }),
    );
    const bench = this.#bench;
    for (const scenario of scenarios) await this.#probe(scenario);
    this.#chooseEffort();
    const sharing = await this.#trySharing(scenarios);
    this.#found.push(...sharing.found);
    bench.atOnce = this.#goOn(sharing);
    for (const scenario of scenarios) await this.#solveRest(scenario);
    this.#chooseEffort();
    // Everything with one task of each scenario before the others: time that is over has left out what says least.
    await inParallel(scenarios, bench.atOnce, (scenario) => this.#tryFirst(scenario));
    await this.#tryEnvironment(scenarios, !sharing.mayRunTogether);
    for (const scenario of scenarios) await this.#tryRest(scenario);
    if (bench.effort === SMALL_EFFORT && bench.sessionMs > 0)
      this.#found.push(note('start', describeSmallEffort(bench.sessionMs)));
    return { found: this.#found, mayShare: sharing.mayShare };
  }

  #chooseEffort(): void {
    const bench = this.#bench;
    const counts = this.#facts.scenarios.map(({ tasks }) => tasks.length);
    const tasks = counts.reduce((sum, count) => sum + count, 0);
    const atOnce = Math.max(bench.atOnce, availableParallelism());
    const { sessionMs, budget } = bench;
    bench.effort = effortFor({ scenarios: counts.length, tasks, sessionMs, atOnce, leftMs: budget.leftMs });
  }

  /** The first tasks of a scenario, each in a process of its own. */
  async #probe(scenario: Scenario): Promise<void> {
    const { entry, tasks, problem } = scenario.checked;
    if (problem !== undefined) {
      this.#found.push({ finding: 'start', level: 'warning', scenario: entry.short_name, message: problem });
    }
    for (const task of tasks.slice(0, PROBES)) await this.#solve(scenario, task, true);
    const [first] = scenario.subjects;
    if (this.#bench.budget.isOver('deterministic', first?.task) || first === undefined) return;
    const found = await deterministic(
      first,
      this.#bench,
      (open) => this.#again(first, { open: open ?? this.#bench.places.cheap }),
      true,
    );
    this.#found.push(...found);
    // A part that differs by itself in one task can be told of none from what another session has changed.
    if (found.length > 0)
      scenario.subjects.splice(0, PROBES, ...scenario.subjects.map((subject) => ({ ...subject, isSteady: false })));
  }

  async #solve(scenario: Scenario, task: CheckTask, isAlone: boolean): Promise<void> {
    if (!scenario.isOpen || this.#bench.budget.isOver(['solvable', ...OF_A_TASK], task)) return;
    const open = isAlone ? this.#bench.places.alone() : undefined;
    const { played, state, found } = judgeSolution(
      this.#bench,
      task,
      await this.#bench.play(task, { model: 'proctor/oracle', open }),
    );
    if (state === 'not set up') {
      // Arguments that nobody has declared may be nonsense to the scenario: whether all are is told at the end.
      if (!task.isDeclared && !isHanging(played.trace.error?.message)) return;
      scenario.isOpen = false;
      this.#found.push(...found);
      return;
    }
    if (state === 'not judged') {
      // A model that is not there would give all rewards: further tries say nothing else.
      scenario.isOpen = false;
      this.#found.push(...found);
      return;
    }
    if (state !== 'no solution' || !scenario.subjects.some(({ state: other }) => other === 'no solution'))
      this.#found.push(...found);
    const solved = state === 'no solution' ? await this.#bench.play(task, { ...BY_CHANCE, open }) : played;
    scenario.subjects.push({ task, solved, state, isSteady: state !== 'unsolved' && solved.trace.error === null });
  }

  /** Plays what was played in the run of a subject again. */
  readonly #again: PlayAgain = async ({ task, state }, how) => {
    return await this.#bench.play(task, {
      ...(state === 'no solution' ? BY_CHANCE : { model: 'proctor/oracle' }),
      ...how,
    });
  };

  async #trySharing(scenarios: readonly Scenario[]): Promise<Sharing> {
    const steady = scenarios.map(({ subjects }) => subjects.filter(({ isSteady }) => isSteady));
    const [first] = steady.flat();
    const { budget } = this.#bench;
    if (budget.isOver(['isolated', 'order']) || first === undefined)
      return { found: [], mayShare: null, mayRunTogether: true, canBeHosted: false };
    const within = steady.flatMap(([one, other]): Pair[] => (one === undefined ? [] : [[one, other ?? one]]));
    const across = steady.flatMap(([one], index): Pair[] => {
      const [other] = steady[index + 1] ?? [];
      return one === undefined || other === undefined ? [] : [[one, other]];
    });
    const pairs = [...within, ...across].slice(0, this.#bench.effort.pairs);
    const { sessionsPerProcess } = this.#facts;
    return await trySharing(pairs, this.#bench, this.#again, { target: this.#target, sessionsPerProcess });
  }

  /** Where sessions are from now on. @returns how many at once. */
  #goOn({ mayShare, mayRunTogether, canBeHosted }: Sharing): number {
    const isShared = mayShare ?? this.#facts.sessionsPerProcess > 1;
    const cores = availableParallelism();
    // One after the other, and what would be reported is played alone: a process for each of hundreds costs minutes.
    this.#bench.isDisturbed = mayShare === false && canBeHosted;
    if (this.#bench.isDisturbed) {
      this.#bench.places.share(1);
      return 1;
    }
    if (isShared) this.#bench.places.share(Math.min(2, cores));
    const most = this.#target.limits?.concurrency ?? Number.POSITIVE_INFINITY;
    return mayRunTogether ? Math.min(isShared ? 2 * cores : cores, most) : 1;
  }

  async #solveRest(scenario: Scenario): Promise<void> {
    const { entry, tasks } = scenario.checked;
    await inParallel(tasks.slice(PROBES), this.#bench.atOnce, (task) => this.#solve(scenario, task, false));
    // As they were picked: tasks that are solved at one time end in any order.
    scenario.subjects.sort((a, b) => tasks.indexOf(a.task) - tasks.indexOf(b.task));
    if (tasks.length === 0 || scenario.subjects.length > 0 || !scenario.isOpen || this.#bench.budget.leftMs === 0)
      return;
    const message = `None of ${tasks.length} sets of arguments that its schema allows could be set up: declare tasks.`;
    this.#found.push({ finding: 'start', level: 'warning', scenario: entry.short_name, message });
  }

  async #tryFirst(scenario: Scenario): Promise<void> {
    const [first] = scenario.subjects;
    const bench = this.#bench;
    if (first === undefined || bench.budget.isOver(OF_A_TASK, first.task)) return;
    const names = this.#facts.scenarios.map(({ entry }) => entry.short_name);
    const seen = await seenByAgents(first.task, bench, names);
    const clumsy = await playClumsily(first.task, bench, first.solved.trace.tools);
    const tools: ReadonlyMap<string, AgentToolEntry> = new Map(this.#facts.tools.map((tool) => [tool.name, tool]));
    scenario.parts = { tools, seen, clumsy, again: this.#again };
    scenario.results.push(await new TaskCheck(bench, scenario.parts).run(first, true));
  }

  async #tryRest({ checked, subjects, results, parts }: Scenario): Promise<void> {
    if (parts === undefined) return;
    const bench = this.#bench;
    const check = new TaskCheck(bench, parts);
    const further: (readonly [number, TaskChecked])[] = [];
    await inParallel(subjects.slice(1), bench.atOnce, async (subject, index) => {
      if (!bench.budget.isOver(OF_A_TASK, subject.task)) further.push([index, await check.run(subject, false)]);
    });
    results.push(...further.sort(([a], [b]) => a - b).map(([, result]) => result));
    this.#found.push(...results.flatMap(({ found }) => found));
    this.#found.push(...idleFindings(results, subjects.length, parts.tools));
    this.#found.push(...strengthNotes(checked, results, bench));
  }

  async #tryEnvironment(scenarios: readonly Scenario[], areFilesTold: boolean): Promise<void> {
    const { tools, warnings, isUnsandboxed, sessionsPerProcess } = this.#facts;
    const subjects = scenarios.flatMap(({ subjects: [first] }) => (first === undefined ? [] : [first]));
    const shown = [...tools, ...subjects.flatMap(({ solved }) => solved.trace.tools)];
    const byName = new Map(shown.map((tool) => [tool.name, tool]));
    this.#found.push(...undescribed([...byName.values()]), ...warnings.map((text) => warning(`${text}.`)));
    for (const subject of subjects) {
      if (this.#bench.budget.isOver('forger', subject.task)) continue;
      this.#found.push(...(await forgeLoot(subject, this.#bench, this.#target, isUnsandboxed)));
    }
    const names = scenarios.map(({ checked }) => checked.entry.short_name);
    if (!this.#bench.budget.isOver('forger'))
      this.#found.push(...(await forgeRoutes(this.#bench, this.#target, names)));
    const [first] = subjects.filter(({ isSteady }) => isSteady);
    if (!this.#bench.budget.isOver('clean') && first !== undefined)
      this.#found.push(...(await clean(first, this.#bench, this.#target, { sessionsPerProcess, areFilesTold })));
  }
}

function note(finding: Found['finding'], message: string): Found {
  return { finding, level: 'note', message };
}

/** The trajectory of a scenario that has no solution. */
const BY_CHANCE = { model: 'proctor/random', seed: 1 } as const;

function isHanging(message: string | undefined): boolean {
  return message?.includes('did not end within') === true || message?.includes('did not finish connecting') === true;
}
