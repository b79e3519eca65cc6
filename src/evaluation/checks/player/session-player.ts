import type { FindingName } from '../../../contract/service/check.ts';
import type { ChatModel, ReferenceContext } from '../../../models/gateway/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../../../models/gateway/harness-models.ts';
import type { Secret } from '../../../support/redaction/redactor.ts';
import { shellQuoted } from '../../../support/text/shell-quote.ts';
import type { Budget } from '../budget.ts';
import type { Coverage } from '../coverage.ts';
import { CHECK_DEFAULTS } from '../defaults.ts';
import type { CheckTask } from '../finding.ts';
import type { ClientMiddleware } from './client-middleware.ts';
import { inParallel } from './in-parallel.ts';
import { isScript, type OpenSession, type PlayedSession, play } from './play.ts';
import type { SessionLaunchers } from './session-launchers.ts';
import { type Effort, FULL_EFFORT, type Tries } from './try-counts.ts';

export interface BenchOptions {
  /** Name in reports and traces. */
  readonly name: string;
  /** Name as the user typed it, for commands. */
  readonly typedName: string;
  readonly places: SessionLaunchers;
  readonly seed: number;
  /** Most tasks of each scenario. */
  readonly tasks: number;
  /** Least reward that passes. */
  readonly threshold: number;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. */
  readonly limitMs: number;
  readonly budget: Budget;
  readonly coverage: Coverage;
  /** Keys of the operator, which no environment process may hold. */
  readonly keys: readonly Secret[];
  readonly signal: AbortSignal;
  /** Called with each session that was played. */
  readonly onPlayed: (task: CheckTask, played: PlayedSession) => void;
}

export interface HowToPlay {
  /** Finding that this session looks for. It is recorded as tried. */
  readonly finding?: FindingName | undefined;
  readonly model: string;
  readonly createModel?: ((context: ReferenceContext) => ChatModel) | undefined;
  /** Seed of the session. Default: that of the check. */
  readonly seed?: number | undefined;
  /** Opens the session. Default: the cheapest way. */
  readonly open?: OpenSession | undefined;
  readonly around?: ClientMiddleware | undefined;
  readonly maxSteps?: number | undefined;
  /** The verdict of the default judge. Default true. */
  readonly verdict?: boolean | undefined;
}

/** Longest command of a run in characters. Reports would cut a longer one. */
const MAX_COMMAND = 800;
/** Findings whose agents must get no reward. */
const MEANT_TO_FAIL: readonly FindingName[] = ['idle', 'random', 'echo', 'forger', 'grader_strength'];
/** Number of sessions for the median time. */
const MEASURED = 30;

/** Plays the sessions of a check, with everything that a finding needs. */
export class SessionPlayer {
  /** True if cheap sessions affect each other. */
  isDisturbed = false;
  effort: Effort = FULL_EFFORT;
  readonly #options: BenchOptions;
  readonly #durations: number[] = [];
  #atOnce = 1;
  #playing = 0;
  readonly #waiting: (() => void)[] = [];
  /** Tasks whose user or judge is not available in a run. */
  readonly #withOwnRoles = new WeakSet<CheckTask>();

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }
  get places(): SessionLaunchers {
    return this.#options.places;
  }
  get seed(): number {
    return this.#options.seed;
  }
  get threshold(): number {
    return this.#options.threshold;
  }
  get limitMs(): number {
    return this.#options.limitMs;
  }
  get keys(): readonly Secret[] {
    return this.#options.keys;
  }
  get signal(): AbortSignal {
    return this.#options.signal;
  }
  get budget(): Budget {
    return this.#options.budget;
  }
  get coverage(): Coverage {
    return this.#options.coverage;
  }
  /** Number of concurrent cheap sessions. */
  get atOnce(): number {
    return this.#atOnce;
  }
  set atOnce(sessions: number) {
    this.#atOnce = sessions;
  }
  /** Median time of the last sessions, in milliseconds. */
  get sessionMs(): number {
    const sorted = [...this.#durations].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }

  tries(isFirst: boolean): Tries {
    return isFirst ? this.effort.first : this.effort.further;
  }

  /**
   * Runs the work on every item, with as many in progress as sessions, until the time is over. @returns results in
   * order.
   */
  async each<T, R>(
    items: readonly T[],
    { isOver }: { readonly isOver: () => boolean },
    work: (item: T, index: number) => Promise<R>,
  ): Promise<readonly R[]> {
    const results: (readonly [number, R])[] = [];
    await inParallel(items, this.#atOnce, async (item, index) => {
      if (!isOver()) results.push([index, await work(item, index)]);
    });
    return results.sort(([a], [b]) => a - b).map(([, result]) => result);
  }

  /**
   * Plays a task. Plays it again in its own process if the process died with other sessions in it, or if sessions
   * affect each other and the result would be reported.
   */
  async play(task: CheckTask, how: HowToPlay): Promise<PlayedSession> {
    if (how.open !== undefined) return await this.#playOnce(task, how);
    // Tasks and their tries both run concurrently, so that the limit applies to their sessions together.
    while (this.#playing >= this.#atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#playing += 1;
    try {
      return await this.#playOnce(task, how);
    } finally {
      this.#playing -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #playOnce(task: CheckTask, how: HowToPlay): Promise<PlayedSession> {
    const startedAt = performance.now();
    const first = await this.#play(task, how, how.open ?? this.places.cheap);
    const isDoubtful = this.isDisturbed && how.open === undefined && this.#isRemarkable(how, first);
    const played = first.isLost || isDoubtful ? await this.#play(task, how, this.places.alone()) : first;
    this.#durations.push(performance.now() - startedAt);
    if (this.#durations.length > MEASURED) this.#durations.shift();
    if (played.isUserAbsent || played.hasDefaultUser || played.hasDefaultVerdict) this.#withOwnRoles.add(task);
    if (how.finding !== undefined) this.coverage.tried(how.finding, { task });
    const judged = await this.#withoutVerdict(task, how, played);
    this.#options.onPlayed(task, judged);
    return judged;
  }

  /**
   * Repeats a session in which the default judge approved an agent that must fail, with a judge that refuses. An agent
   * that still gets a reward gets it from the grader's code. Otherwise only the judge decides, and a check cannot test
   * that.
   */
  async #withoutVerdict(task: CheckTask, how: HowToPlay, played: PlayedSession): Promise<PlayedSession> {
    const { finding } = how;
    const { reward } = played.trace;
    if (finding === undefined || !MEANT_TO_FAIL.includes(finding)) return played;
    if (!played.hasDefaultVerdict || reward === null || reward <= 0) return played;
    const refused = await this.#play(task, { ...how, verdict: false }, how.open ?? this.places.cheap);
    if (refused.trace.reward !== reward && (refused.trace.reward ?? 0) < this.threshold) {
      this.coverage.notTried(finding, 'only a judge decides, and a check has none: list verdicts in judge_script', {
        task,
      });
    }
    return refused;
  }

  /**
   * True if the session would be reported: a solution that does not pass, or another agent that gets a reward or an
   * error.
   */
  #isRemarkable({ model, createModel }: HowToPlay, { trace: { reward, error } }: PlayedSession): boolean {
    if (model === 'proctor/oracle' && createModel === undefined) return reward === null || reward < this.threshold;
    return error !== null || (reward !== null && reward > 0);
  }

  async #play(task: CheckTask, { seed = this.seed, ...how }: HowToPlay, open: OpenSession): Promise<PlayedSession> {
    const { scenario, args, userScript } = task;
    const { name: environment, limitMs, signal } = this;
    const what = { environment, scenario: scenario.short_name, args, userScript, seed };
    return await play({ ...how, ...what, open, limitMs, signal });
  }

  /**
   * The command that plays a task with a reference model and with the check's user and judge, because a project may
   * configure other models for both. If a run cannot have them, it is a check of the task.
   */
  runCommand(task: CheckTask, model: string, seed = this.seed): string {
    const { scenario, args, userScript } = task;
    const hasUser = isScript(args.user_script);
    const hasJudge = isScript(args.judge_script);
    // Lines of the task itself, outside of its arguments, cannot be passed to a run.
    if (userScript !== undefined || this.#withOwnRoles.has(task)) return this.checkCommand(task);
    const given = Object.keys(args).length === 0 ? '' : ` --args ${shellQuoted(JSON.stringify(args))}`;
    const roles = `${hasUser ? ` --user-model ${USER_SCRIPT}` : ''}${hasJudge ? ` --judge-model ${JUDGE_SCRIPT}` : ''}`;
    const name = shellQuoted(scenario.short_name);
    const command = `proctor run ${shellQuoted(this.#options.typedName)} ${name}${given} --model ${model}${roles} --seed ${seed}`;
    return command.length > MAX_COMMAND ? this.checkCommand(task) : command;
  }

  /** The command that repeats this session. */
  commandOf(task: CheckTask, { isOwn, trace: { model, seed } }: PlayedSession): string {
    return isOwn ? this.checkCommand(task) : this.runCommand(task, model, seed ?? 0);
  }

  /** The command that checks only a task or a scenario, or everything. */
  checkCommand({ scenario, id }: { readonly scenario?: CheckTask['scenario']; readonly id?: string } = {}): string {
    const { typedName, tasks, seed, threshold, limitMs } = this.#options;
    const parts = [
      `proctor check ${shellQuoted(typedName)}`,
      ...(scenario === undefined ? [] : [`--scenario ${shellQuoted(scenario.short_name)}`]),
      ...(id === undefined ? [] : [`--task ${shellQuoted(id)}`]),
      ...(tasks === CHECK_DEFAULTS.tasks || (id !== undefined && !DRAWN.test(id)) ? [] : [`--tasks ${tasks}`]),
      `--seed ${seed}`,
      ...(threshold === CHECK_DEFAULTS.threshold ? [] : [`--pass-threshold ${threshold}`]),
      ...(limitMs === CHECK_DEFAULTS.limitMs ? [] : [`--timeout ${Math.ceil(limitMs / 1_000)}`]),
    ];
    return parts.join(' ');
  }
}

/** Ids of drawn tasks, which depend on the number of tasks that are drawn. */
const DRAWN = /^drawn-\d+$/;
