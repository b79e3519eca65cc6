import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import { hashTargetCode } from '../client/module-hash.ts';
import { ApiError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import { MAX_STEPS } from '../contract/names.ts';
import { EXTERNAL_MODEL } from '../contract/seat.ts';
import type { Database } from '../database/database.ts';
import type { Models } from '../model/create-model.ts';
import { LONGEST_TIMER_MS } from '../runtime/deadline.ts';
import { OpenSeat } from '../seats/open-seat.ts';
import { SeatRows } from '../seats/seat-rows.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import type { NewTrace, TraceStore } from '../trace/trace-store.ts';
import { Episode } from './episode.ts';

export interface EpisodesOptions {
  readonly origin: 'ors' | 'openenv';
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  /** Judges for evaluations. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  readonly logger: Pick<Logger, 'error'>;
  /** Processes of environments. Whoever made it closes it. */
  readonly pool: Pick<EnvironmentPool, 'connect'>;
  /** Active at a time. */
  readonly maxSessions: number;
  /** Milliseconds without a sign of its client after which an episode is ended. */
  readonly sessionTtlMs: number;
  /** Milliseconds between two looks at who is idle. Default 5,000. */
  readonly lookEveryMs?: number | undefined;
  /** Calls of an episode, after which it is evaluated. Default 500. */
  readonly maxCalls?: number | undefined;
}

export interface EpisodeStart {
  /** Configured name of the environment. */
  readonly environment: string;
  /** Short name of the scenario. */
  readonly scenario: string;
  /** Checked by the scenario's schema. */
  readonly args: JsonObject;
  /** Seed of the environment and of its replays; null or absent: none. */
  readonly seed?: number | null;
}

const LOOK_EVERY_MS = 5_000;
/** Account of the traces (contract section 11). */
const ACCOUNT = 'local';

/** The episodes of a server of another protocol: as seats, without an MCP endpoint. Whoever made it closes it. */
export class Episodes {
  readonly #options: EpisodesOptions;
  readonly #ownerId: string;
  readonly #rows: SeatRows;
  readonly #active = new Map<string, Episode>();
  readonly #seats = new Map<string, OpenSeat>();
  /** Those that nobody plays any more, until their environments are closed. */
  readonly #leaving = new Set<string>();
  readonly #ending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #stopWatch: () => void;
  #starting = 0;
  #closed: ApiError | undefined;

  constructor(options: EpisodesOptions) {
    const { origin, database, store, logger } = options;
    this.#options = options;
    this.#ownerId = `${origin}_${process.pid}_${randomBytes(4).toString('hex')}`;
    this.#rows = new SeatRows({ database, store, logger, ownerId: this.#ownerId });
    this.#timer = setInterval(() => this.expire(), options.lookEveryMs ?? LOOK_EVERY_MS).unref();
    this.#stopWatch = this.#rows.watch(() => this.#active.size > 0);
  }

  /** Those that are played, or begin: one that was left has made room for the next one of its client. */
  get size(): number {
    return this.#active.size - this.#leaving.size + this.#starting;
  }

  /**
   * Makes a trace and begins to set the scenario up, which `Episode.ready` waits for.
   *
   * @throws ApiError capacity_exceeded or shutting_down.
   */
  async open(start: EpisodeStart): Promise<Episode> {
    const { maxSessions, environments } = this.#options;
    if (this.#closed !== undefined) throw this.#closed;
    // Environments that are closed are there too: as many again at most.
    if (this.size >= maxSessions || this.size + this.#leaving.size >= 2 * maxSessions) throw atCapacity(maxSessions);
    const target = environments.get(start.environment);
    if (target === undefined) throw new TypeError(`There is no environment ${start.environment}`);
    this.#starting += 1;
    try {
      return await this.#open(start, target);
    } finally {
      this.#starting -= 1;
    }
  }

  /** Ends an episode that nobody evaluates. Never rejects. @param why the stop reason of its trace. */
  async abandon(episode: Episode, why: 'abandoned' | 'expired' = 'abandoned'): Promise<void> {
    await this.#leave(episode.traceId, why);
  }

  /** Ends the episodes whose clients have not been heard of for too long. */
  expire(): void {
    for (const [traceId, episode] of this.#active) {
      if (episode.idleMs >= this.#options.sessionTtlMs) void this.#leave(traceId, 'expired');
    }
  }

  /** Ends the traces of servers that are gone, as failed. @returns how many. */
  async endOrphans(): Promise<number> {
    return await this.#rows.failOrphans();
  }

  /** Fails every episode; evaluations that go on may end within `graceMs`. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server that held the session was shut down');
    this.#closed = cause;
    clearInterval(this.#timer);
    await Promise.all([...this.#seats.values()].map((seat) => seat.fail(cause, graceMs)));
    await Promise.all(this.#ending);
    this.#stopWatch();
  }

  async #leave(traceId: string, why: 'abandoned' | 'expired'): Promise<void> {
    const seat = this.#seats.get(traceId);
    if (seat === undefined) return;
    this.#leaving.add(traceId);
    await seat.cancel(why);
  }

  async #open(start: EpisodeStart, target: EnvironmentTarget): Promise<Episode> {
    const { store, pool } = this.#options;
    const traceId = randomBytes(16).toString('hex');
    const codeHash = await hashTargetCode(target).catch(() => null);
    const request = this.#toQueued(start);
    await store.create({ traceId, account: ACCOUNT, queued: request }, (transaction) =>
      // No request shows a secret of it: nobody finds it by one.
      this.#rows.insert({ traceId, account: ACCOUNT, secretHash: '' }, transaction),
    );
    const seat = new OpenSeat({
      traceId,
      request,
      connect: (options) => pool.connect(target, { ...options, codeHash }),
      recorder: createRecorder(store, traceId, 1),
      worker: this.#ownerId,
      environmentHash: codeHash,
      models: this.#options.models,
      hasModel: false,
      hasCallSteps: true,
      // Its client may take all the time that it is heard of.
      limitMs: LONGEST_TIMER_MS,
      redactor: store.redactor,
    });
    const episode = new Episode(seat, () => performance.now());
    this.#seats.set(traceId, seat);
    this.#active.set(traceId, episode);
    this.#follow(traceId, episode);
    // It was closed while the trace was written: nothing else would end it.
    if (this.#closed !== undefined) {
      await seat.fail(this.#closed);
      throw this.#closed;
    }
    return episode;
  }

  #follow(traceId: string, episode: Episode): void {
    const { logger } = this.#options;
    const ending = (async () => {
      await episode.ended;
      this.#active.delete(traceId);
      this.#seats.delete(traceId);
      this.#leaving.delete(traceId);
      await this.#rows.end(traceId, 'The end of the session could not be written; the log of the server says why');
    })()
      .catch((error: unknown) => logger.error({ err: error, traceId }, 'The end of a session could not be written'))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #toQueued({ environment, scenario, args, seed = null }: EpisodeStart): NewTrace['queued'] {
    return {
      origin: this.#options.origin,
      env_name: environment,
      scenario_name: scenario,
      scenario_args: args,
      model: EXTERNAL_MODEL,
      max_steps: this.#options.maxCalls ?? MAX_STEPS.maximum,
      timeout_seconds: Math.ceil(this.#options.sessionTtlMs / 1_000),
      seed,
      sampling: {},
      metadata: {},
      priority: 0,
    };
  }
}

function atCapacity(maxSessions: number): ApiError {
  return new ApiError(
    'capacity_exceeded',
    `The server holds ${maxSessions === 1 ? '1 session' : `${maxSessions} sessions`}, which is its limit: delete some, or start it with a higher --max-sessions.`,
    { headers: { 'retry-after': '10' } },
  );
}
