import { availableParallelism } from 'node:os';
import type { FindingName } from '../../contract/service/check.ts';
import type { AgentToolEntry, EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { CheckTask, Finding, Subject } from './finding.ts';
import { undescribed, warning } from './player/described.ts';
import { inParallel } from './player/in-parallel.ts';
import type { SessionPlayer } from './player/session-player.ts';
import { describeSmallEffort, effortFor, SMALL_EFFORT } from './player/try-counts.ts';
import type { CheckedScenario, EnvironmentFacts } from './read-environment.ts';
import { idleFindings, strengthNotes } from './scenario-notes.ts';
import { TaskCheck, type TaskChecked, type TaskCheckParts } from './task-check.ts';
import { clean } from './tries/clean.ts';
import { deterministic } from './tries/deterministic.ts';
import { forgeLoot, forgeRoutes } from './tries/forger.ts';
import type { Pair, PlayAgain } from './tries/isolated.ts';
import { playClumsily } from './tries/malformed-calls.ts';
import { secrets } from './tries/secrets.ts';
import { seenByAgents } from './tries/seen-by-agents.ts';
import { type Sharing, trySharing } from './tries/sharing.ts';
import { judgeSolution } from './tries/solvable.ts';

/** Tasks of a scenario that are tried first, each in its own process. */
const PROBES = 2;

/** Findings that are tried with each task after its setup. */
const OF_A_TASK: readonly FindingName[] = ['idle', 'random', 'echo', 'leak', 'forger', 'grader_strength'];

/** Reason why sessions cannot be compared. */
const UNSTEADY = 'no task of it is played twice with the same result';
const NOTHING_SHARED: Sharing = { found: [], mayShare: null, mayRunTogether: true, canBeHosted: false };

/** A scenario whose tasks are being tried. */
interface Scenario {
  readonly checked: CheckedScenario;
  readonly subjects: Subject[];
  readonly results: TaskChecked[];
  /** Inputs that all tasks of the scenario share; undefined before the first task. */
  parts: TaskCheckParts | undefined;
  /** Reason why its tasks are not tried any further; undefined while they are. */
  closedBy: string | undefined;
}

/**
 * The check of one environment. It starts with tries in separate processes and continues where sessions are cheap. It
 * finds out what sessions share before hundreds of them share a process.
 */
export class EnvironmentCheck {
  readonly #bench: SessionPlayer;
  readonly #target: EnvironmentTarget;
  readonly #facts: EnvironmentFacts;
  readonly #found: Finding[] = [];

  constructor(bench: SessionPlayer, target: EnvironmentTarget, facts: EnvironmentFacts) {
    this.#bench = bench;
    this.#target = target;
    this.#facts = facts;
  }

  async run(): Promise<{ readonly found: readonly Finding[]; readonly mayShare: boolean | null }> {
    const scenarios = this.#facts.scenarios.map(
      (checked): Scenario => ({ checked, subjects: [], results: [], closedBy: undefined, parts: undefined }),
    );
    const bench = this.#bench;
    for (const scenario of scenarios) await this.#probe(scenario);
    this.#chooseEffort();
    const sharing = await this.#trySharing(scenarios);
    this.#found.push(...sharing.found);
    bench.atOnce = this.#goOn(sharing);
    for (const scenario of scenarios) await this.#solveRest(scenario);
    this.#chooseEffort();
    // One task of each scenario comes first, so that a lack of time cuts the least important tries.
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

  /** Solves the first tasks of a scenario, each in its own process. */
  async #probe(scenario: Scenario): Promise<void> {
    const { entry, tasks, problem } = scenario.checked;
    if (problem !== undefined) {
      this.#found.push({ finding: 'start', level: 'warning', scenario: entry.short_name, message: problem });
    }
    for (const task of tasks.slice(0, PROBES)) await this.#solve(scenario, task, true);
    const [first] = scenario.subjects;
    if (first === undefined || this.#bench.budget.isOver('deterministic', first.task)) return;
    const found = await deterministic(
      first,
      this.#bench,
      (open) => this.#again(first, { open: open ?? this.#bench.places.cheap }),
      true,
    );
    this.#found.push(...found);
    // Parts that vary by themselves in one task cannot be told from changes by another session.
    if (found.length > 0)
      scenario.subjects.splice(0, PROBES, ...scenario.subjects.map((subject) => ({ ...subject, isSteady: false })));
  }

  async #solve(scenario: Scenario, task: CheckTask, isAlone: boolean): Promise<void> {
    const { coverage } = this.#bench;
    if (scenario.closedBy !== undefined) {
      coverage.notTried(['start', 'solvable', ...OF_A_TASK], scenario.closedBy, { task });
      return;
    }
    if (this.#bench.budget.isOver(['start', 'solvable', ...OF_A_TASK], task)) return;
    const open = isAlone ? this.#bench.places.alone() : undefined;
    const { played, state, found } = judgeSolution(
      this.#bench,
      task,
      await this.#bench.play(task, { finding: 'start', model: 'proctor/oracle', open }),
    );
    if (state === 'not set up') {
      // Arguments that were drawn may be invalid for the scenario. The end reports it if all of them are.
      if (!task.isDeclared && !isHanging(played.trace.error?.message)) return;
      coverage.notTried(['solvable', ...OF_A_TASK], 'it cannot be set up', { task });
      scenario.closedBy = 'a task of its scenario cannot be set up';
      this.#found.push(...found);
      return;
    }
    if (state === 'not judged') {
      // Without a model every reward fails, so that further tries would show nothing new.
      scenario.closedBy = 'its evaluation asks a model, and a check asks none';
      coverage.notTried(['solvable', 'deterministic', ...OF_A_TASK], scenario.closedBy, { task });
      this.#found.push(...found);
      return;
    }
    if (state === 'no solution') coverage.notTried('solvable', 'it has no solution', { task });
    else coverage.tried('solvable', { task });
    if (played.isUserAbsent) coverage.notTried(OF_A_TASK, 'its user has functions, which only a model calls', { task });
    if (state !== 'no solution' || !scenario.subjects.some(({ state: other }) => other === 'no solution'))
      this.#found.push(...found);
    const solved = state === 'no solution' ? await this.#bench.play(task, { ...BY_CHANCE, open }) : played;
    scenario.subjects.push({ task, solved, state, isSteady: state !== 'unsolved' && solved.trace.error === null });
  }

  /** Repeats the run of a subject. */
  readonly #again: PlayAgain = async ({ task, state }, how) => {
    return await this.#bench.play(task, {
      ...(state === 'no solution' ? BY_CHANCE : { model: 'proctor/oracle' }),
      ...how,
    });
  };

  async #trySharing(scenarios: readonly Scenario[]): Promise<Sharing> {
    const steady = scenarios.map(({ subjects }) => subjects.filter(({ isSteady }) => isSteady));
    const [first] = steady.flat();
    const { budget, coverage } = this.#bench;
    if (budget.isOver(['isolated', 'order'])) return NOTHING_SHARED;
    if (first === undefined) {
      coverage.notTried(['isolated', 'order'], UNSTEADY);
      return NOTHING_SHARED;
    }
    const within = steady.flatMap(([one, other]): Pair[] => (one === undefined ? [] : [[one, other ?? one]]));
    const across = steady.flatMap(([one], index): Pair[] => {
      const [other] = steady[index + 1] ?? [];
      return one === undefined || other === undefined ? [] : [[one, other]];
    });
    const pairs = [...within, ...across].slice(0, this.#bench.effort.pairs);
    const { sessionsPerProcess } = this.#facts;
    const sharing = await trySharing(pairs, this.#bench, this.#again, { target: this.#target, sessionsPerProcess });
    const errors = sharing.found.filter(({ level }) => level === 'error').map(({ finding }) => finding);
    for (const finding of ['isolated', 'order'] as const) {
      const [other] = errors;
      if (other === undefined || errors.includes(finding)) coverage.tried(finding);
      else coverage.notTried(finding, `the error of ${other} comes first`);
    }
    return sharing;
  }

  /** Chooses where later sessions run. @returns the number of concurrent sessions. */
  #goOn({ mayShare, mayRunTogether, canBeHosted }: Sharing): number {
    const isShared = mayShare ?? this.#facts.sessionsPerProcess > 1;
    const cores = availableParallelism();
    // Sessions run one after the other, and suspicious ones again alone. Hundreds of processes would take minutes.
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
    // Restores the order of picking, because concurrent tasks end in any order.
    scenario.subjects.sort((a, b) => tasks.indexOf(a.task) - tasks.indexOf(b.task));
    if (
      tasks.length === 0 ||
      scenario.subjects.length > 0 ||
      scenario.closedBy !== undefined ||
      this.#bench.budget.leftMs === 0
    )
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
    const clumsy = await playClumsily(first.task, bench, { tools: first.solved.trace.tools, seen });
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

  async #lookForKeys([subject]: readonly Subject[]): Promise<void> {
    const bench = this.#bench;
    if (bench.budget.isOver('secrets')) return;
    if (subject === undefined) bench.coverage.notTried('secrets', 'no task of it could be played');
    else this.#found.push(...(await secrets(subject, bench, this.#target)));
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
    if (shown.length > 0 || subjects.length > 0) this.#bench.coverage.tried('described');
    if (this.#bench.budget.isOver(['clean', 'secrets'])) return;
    const [first] = subjects.filter(({ isSteady }) => isSteady);
    if (first === undefined) this.#bench.coverage.notTried('clean', UNSTEADY);
    else this.#found.push(...(await clean(first, this.#bench, this.#target, { sessionsPerProcess, areFilesTold })));
    await this.#lookForKeys(subjects);
  }
}

function note(finding: Finding['finding'], message: string): Finding {
  return { finding, level: 'note', message };
}

/** Replaces the solution in a scenario without one. */
const BY_CHANCE = { model: 'proctor/random', seed: 1 } as const;

function isHanging(message: string | undefined): boolean {
  return message?.includes('did not end within') === true || message?.includes('did not finish connecting') === true;
}
