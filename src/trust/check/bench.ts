import type { ChatModel, ReferenceContext } from '../../model/chat-model.ts';
import type { Around } from './around-client.ts';
import type { CheckTask } from './finding.ts';
import type { Places } from './places.ts';
import { type OpenSession, type Played, play } from './play.ts';

export interface BenchOptions {
  /** Name in reports and traces. */
  readonly name: string;
  /** As whoever asked for the check has typed it, for commands. */
  readonly typedName: string;
  readonly places: Places;
  readonly seed: number;
  /** A reward from here on passes. */
  readonly threshold: number;
  /** Milliseconds for the start of a session, its setup, each call and its evaluation. */
  readonly limitMs: number;
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

/** Everything that a finding needs to try one environment. */
export class Bench {
  /** True: sessions of the cheap place change each other. */
  isDisturbed = false;
  readonly #options: BenchOptions;

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

  /**
   * Plays a task. Once more in a process of its own, which tells whose fault it was, where its process died with other
   * sessions in it, and where sessions are known to change each other and this one would be reported.
   */
  async play(task: CheckTask, how: HowToPlay): Promise<Played> {
    const first = await this.#play(task, how, how.open ?? this.places.cheap);
    const isDoubtful = this.isDisturbed && how.open === undefined && this.#isRemarkable(how, first);
    const played = first.isLost || isDoubtful ? await this.#play(task, how, this.places.alone()) : first;
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

  /** The command that plays a task with a reference model. */
  runCommand({ scenario, args }: CheckTask, model: string, seed = this.seed): string {
    const given = Object.keys(args).length === 0 ? '' : ` --args ${quoted(JSON.stringify(args))}`;
    const name = quoted(scenario.short_name);
    return `proctor run ${quoted(this.#options.typedName)} ${name}${given} --model ${model} --seed ${seed}`;
  }

  /** The check itself. */
  checkCommand(more = ''): string {
    return `proctor check ${quoted(this.#options.typedName)} --seed ${this.seed}${more}`;
  }
}

/** For a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
