import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { JsonObject } from '../../contract/json.ts';
import { LOCAL_ACCOUNT, MAX_STEPS } from '../../contract/names.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../environment/client/pool/module-hash.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import { LiveSessions } from '../../rollout/live-sessions.ts';
import { LiveSeat } from '../../rollout/seats/live-seat.ts';
import { SeatRows } from '../../rollout/seats/seat-rows.ts';
import { toQueuedRun } from '../../rollout/session/queued-run.ts';
import type { Database } from '../../store/database/database.ts';
import { createRecorder } from '../../store/traces/event-recorder.ts';
import type { NewTrace, TraceStore } from '../../store/traces/trace-store.ts';
import { LONGEST_TIMER_MS } from '../../support/runtime/deadline.ts';
import type { Loop } from '../../support/runtime/loop.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { Episode } from './episode.ts';

export interface EpisodesOptions {
  readonly origin: 'ors' | 'openenv';
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  /** Models that judge evaluations. */
  readonly models: Pick<Models, 'create' | 'harness'>;
  readonly logger: Pick<Logger, 'error'>;
  /** Processes of environments. The creator of the pool closes it. */
  readonly pool: Pick<EnvironmentPool, 'connect' | 'shutDown'>;
  /** Most episodes that may be active at a time. */
  readonly maxSessions: number;
  /** Milliseconds without a message of its client after which an episode ends. */
  readonly sessionTtlMs: number;
  /** Milliseconds between two checks for idle episodes. Default 5,000. */
  readonly lookEveryMs?: number | undefined;
  /** Most calls of an episode; after them it is evaluated. Default 500. */
  readonly maxCalls?: number | undefined;
}

export interface EpisodeStart {
  /** Configured name of the environment. */
  readonly environment: string;
  /** Short name of the scenario. */
  readonly scenario: string;
  /** Arguments that the scenario's schema has accepted. */
  readonly args: JsonObject;
  /** Seed of the environment and of its replays; null or absent for none. */
  readonly seed?: number | null;
}

interface SeatEpisode {
  readonly seat: LiveSeat;
  readonly episode: Episode;
}

/** The episodes of a server of another protocol: seats without an MCP endpoint. The creator closes it. */
export class Episodes {
  readonly #options: EpisodesOptions;
  readonly #ownerId: string;
  readonly #rows: SeatRows;
  readonly #live: LiveSessions<SeatEpisode>;
  readonly #watch: Pick<Loop, 'stop'>;

  constructor(options: EpisodesOptions) {
    const { origin, database, store, logger, maxSessions, sessionTtlMs } = options;
    this.#options = options;
    this.#ownerId = `${origin}_${process.pid}_${randomBytes(4).toString('hex')}`;
    this.#rows = new SeatRows({ database, store, logger, ownerId: this.#ownerId });
    this.#live = new LiveSessions({
      idOf: ({ seat }) => seat.traceId,
      maxSessions,
      fail: ({ seat }, cause) => seat.fail(cause),
      follow: (held) => this.#follow(held),
      expire: ({ episode }) => void (episode.idleMs >= sessionTtlMs && this.abandon(episode, 'expired')),
      lookEveryMs: options.lookEveryMs ?? PERIODS_MS.idleSessions,
      onError: (error, traceId) => logger.error({ err: error, traceId }, 'The end of a session could not be written'),
    });
    this.#watch = this.#rows.watch(() => this.#live.isHolding);
  }

  /**
   * Number of episodes that are active or starting. An abandoned one does not count, so its client can start the
   * next.
   */
  get size(): number {
    return this.#live.size;
  }

  /**
   * Creates a trace and starts the setup of the scenario. `Episode.ready` waits for the setup.
   *
   * @throws ApiError capacity_exceeded or shutting_down.
   */
  async open(start: EpisodeStart): Promise<Episode> {
    this.#live.assertRoom();
    const target = this.#options.environments.get(start.environment);
    if (target === undefined) throw new TypeError(`There is no environment ${start.environment}`);
    return (await this.#live.start(() => this.#begin(start, target))).episode;
  }

  /** Ends an episode without an evaluation. Never rejects. @param why the stop reason of its trace. */
  async abandon(episode: Episode, why: 'abandoned' | 'expired' = 'abandoned'): Promise<void> {
    const { traceId } = episode;
    const held = this.#live.find(traceId);
    if (held === undefined) return;
    this.#live.leave(traceId);
    await held.seat.cancel(why);
  }

  /** Fails the traces of servers that no longer run. @returns how many. */
  async endOrphans(): Promise<number> {
    return await this.#rows.failOrphans();
  }

  /** Fails every episode. Running evaluations have `graceMs` to finish. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The server that held the session was shut down');
    await this.#live.close(cause, async () => {
      this.#options.pool.shutDown();
      await Promise.all(this.#live.all().map(({ seat }) => seat.fail(cause, graceMs)));
    });
    await this.#watch.stop();
  }

  async #begin(start: EpisodeStart, target: EnvironmentTarget): Promise<SeatEpisode> {
    const { store, pool } = this.#options;
    const traceId = newId();
    const codeHash = await hashTargetCode(target).catch(() => null);
    const request = this.#toQueued(start);
    await store.create({ traceId, account: LOCAL_ACCOUNT, queued: request }, (transaction) =>
      // Empty hash: no request finds this episode by a secret.
      this.#rows.insert({ traceId, account: LOCAL_ACCOUNT, secretHash: '' }, transaction),
    );
    const seat = new LiveSeat({
      traceId,
      request,
      connect: (options) => pool.connect(target, { ...options, codeHash }),
      recorder: createRecorder(store, traceId, 1),
      worker: this.#ownerId,
      environmentHash: codeHash,
      models: this.#options.models,
      hasModel: false,
      hasCallSteps: true,
      // No limit for a turn: the idle check ends an episode whose client has left.
      limitMs: LONGEST_TIMER_MS,
      redactor: store.redactor,
    });
    return { seat, episode: new Episode(seat, () => performance.now()) };
  }

  async #follow({ seat, episode }: SeatEpisode): Promise<void> {
    await episode.ended;
    this.#live.drop(seat.traceId);
    await this.#rows.end(seat.traceId, 'The end of the session could not be written; the log of the server says why');
  }

  #toQueued({ environment, scenario, args, seed = null }: EpisodeStart): NewTrace['queued'] {
    return toQueuedRun({
      origin: this.#options.origin,
      env_name: environment,
      scenario_name: scenario,
      scenario_args: args,
      model: undefined,
      max_steps: this.#options.maxCalls ?? MAX_STEPS.maximum,
      timeout_seconds: Math.ceil(this.#options.sessionTtlMs / 1_000),
      seed,
    });
  }
}
