import type { ChatModel, ReferenceContext } from '../../model/chat-model.ts';
import { JUDGE_SCRIPT, USER_SCRIPT } from '../../model/harness-models.ts';
import type { Around } from './around-client.ts';
import type { Budget } from './budget.ts';
import { CHECK_DEFAULTS } from './defaults.ts';
import { type Effort, FULL_EFFORT, type Tries } from './effort.ts';
import type { CheckTask } from './finding.ts';
import { inParallel } from './in-parallel.ts';
import type { Places } from './places.ts';
import { isScript, type OpenSession, type Played, play } from './play.ts';

export interface BenchOptions {
  /** Name in reports and traces. */
  readonly name: string;
  /** As whoever asked for the check has typed it, for commands. */
  readonly typedName: string;
  readonly places: Places;
  readonly seed: number;
  /** Tasks of each scenario, at most. */
  readonly tasks: number;
  /** A reward from here on passes. */
  readonly threshold: number;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. */
  readonly limitMs: number;
  readonly budget: Budget;
  readonly signal: AbortSignal;
  /** Told of each session that was played. */
  readonly onPlayed: (task: CheckTask, played: Played) => void;
}

export interface HowToPlay {
  readonly model: string;
  readonly createModel?: ((context: ReferenceContext) => ChatModel) | undefined;
  /** Default: that of the check. */
  readonly seed?: number | undefined;
  /** Default: where it costs least. */
  readonly open?: OpenSession | undefined;
  readonly around?: Around | undefined;
  readonly maxSteps?: number | undefined;
}

/** Characters of a run's command: nobody copies a longer one, and reports cut it. */
const MAX_COMMAND = 800;
/** Sessions whose time is remembered. */
const MEASURED = 30;

/** Everything that a finding needs to try one environment. */
export class Bench {
  /** True: sessions of the cheap place change each other. */
  isDisturbed = false;
  effort: Effort = FULL_EFFORT;
  readonly #options: BenchOptions;
  readonly #durations: number[] = [];
  #atOnce = 1;
  #playing = 0;
  readonly #waiting: (() => void)[] = [];
  /** Tasks whose user only a model could have played. */
  readonly #withoutUser = new WeakSet<CheckTask>();

  constructor(options: BenchOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }
  get places(): Places {
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
  get signal(): AbortSignal {
    return this.#options.signal;
  }
  get budget(): Budget {
    return this.#options.budget;
  }
  /** Sessions that are played at one time where they cost least. */
  get atOnce(): number {
    return this.#atOnce;
  }
  set atOnce(sessions: number) {
    this.#atOnce = sessions;
  }
  /** Milliseconds: the median of the last sessions. */
  get sessionMs(): number {
    const sorted = [...this.#durations].sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? 0;
  }

  tries(isFirst: boolean): Tries {
    return isFirst ? this.effort.first : this.effort.further;
  }

  /** Does the work on every item, as many at once as sessions are played, until the time is over. @returns in their order. */
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
   * Plays a task. Once more in a process of its own, which tells whose fault it was, where its process died with other
   * sessions in it, and where sessions are known to change each other and this one would be reported.
   */
  async play(task: CheckTask, how: HowToPlay): Promise<Played> {
    if (how.open !== undefined) return await this.#playOnce(task, how);
    // Tasks and their tries are both tried at once: the sessions of all of them are as many as there may be.
    while (this.#playing >= this.#atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#playing += 1;
    try {
      return await this.#playOnce(task, how);
    } finally {
      this.#playing -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #playOnce(task: CheckTask, how: HowToPlay): Promise<Played> {
    const startedAt = performance.now();
    const first = await this.#play(task, how, how.open ?? this.places.cheap);
    const isDoubtful = this.isDisturbed && how.open === undefined && this.#isRemarkable(how, first);
    const played = first.isLost || isDoubtful ? await this.#play(task, how, this.places.alone()) : first;
    this.#durations.push(performance.now() - startedAt);
    if (this.#durations.length > MEASURED) this.#durations.shift();
    if (played.isUserAbsent) this.#withoutUser.add(task);
    this.#options.onPlayed(task, played);
    return played;
  }

  /** A solution that does not pass, and anybody else who is paid, or breaks something. */
  #isRemarkable({ model, createModel }: HowToPlay, { trace: { reward, error } }: Played): boolean {
    if (model === 'proctor/oracle' && createModel === undefined) return reward === null || reward < this.threshold;
    return error !== null || (reward !== null && reward > 0);
  }

  async #play(task: CheckTask, { seed = this.seed, ...how }: HowToPlay, open: OpenSession): Promise<Played> {
    const { scenario, args, userScript } = task;
    const { name: environment, limitMs, signal } = this;
    const what = { environment, scenario: scenario.short_name, args, userScript, seed };
    return await play({ ...how, ...what, open, limitMs, signal });
  }

  /**
   * The command that plays a task with a reference model, by the user and the judge of the check: a project may have
   * models of its own for both. A check of the task where a run cannot do without such a model.
   */
  runCommand(task: CheckTask, model: string, seed = this.seed): string {
    const { scenario, args, userScript } = task;
    const hasUser = isScript(args.user_script);
    const hasJudge = isScript(args.judge_script);
    // Lines that stand in the task, and not in its arguments, are those of a task alone.
    if (userScript !== undefined || this.#withoutUser.has(task)) return this.checkCommand(task);
    const given = Object.keys(args).length === 0 ? '' : ` --args ${quoted(JSON.stringify(args))}`;
    const roles = `${hasUser ? ` --user-model ${USER_SCRIPT}` : ''}${hasJudge ? ` --judge-model ${JUDGE_SCRIPT}` : ''}`;
    const name = quoted(scenario.short_name);
    const command = `proctor run ${quoted(this.#options.typedName)} ${name}${given} --model ${model}${roles} --seed ${seed}`;
    return command.length > MAX_COMMAND ? this.checkCommand(task) : command;
  }

  /** The command that plays this session again. */
  commandOf(task: CheckTask, { isOwn, trace: { model, seed } }: Played): string {
    return isOwn ? this.checkCommand(task) : this.runCommand(task, model, seed ?? 0);
  }

  /** The check of a task or of a scenario alone, or all of it. */
  checkCommand({ scenario, id }: { readonly scenario?: CheckTask['scenario']; readonly id?: string } = {}): string {
    const { typedName, tasks, seed, threshold, limitMs } = this.#options;
    const parts = [
      `proctor check ${quoted(typedName)}`,
      ...(scenario === undefined ? [] : [`--scenario ${quoted(scenario.short_name)}`]),
      ...(id === undefined ? [] : [`--task ${quoted(id)}`]),
      ...(tasks === CHECK_DEFAULTS.tasks || (id !== undefined && !DRAWN.test(id)) ? [] : [`--tasks ${tasks}`]),
      `--seed ${seed}`,
      ...(threshold === CHECK_DEFAULTS.threshold ? [] : [`--pass-threshold ${threshold}`]),
      ...(limitMs === CHECK_DEFAULTS.limitMs ? [] : [`--timeout ${Math.ceil(limitMs / 1_000)}`]),
    ];
    return parts.join(' ');
  }
}

/** Ids of tasks whose arguments were drawn: which they are depends on how many are drawn. */
const DRAWN = /^drawn-\d+$/;

/** For a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
