import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ApiError } from '../../contract/errors.ts';
import type { SetupResult } from '../../contract/scenario.ts';
import type { AnswerWay, SeatRequest } from '../../contract/service/seat.ts';
import type { EnvironmentTarget } from '../../environment/client/environment-client.ts';
import type { McpEnvironmentClient } from '../../environment/client/mcp-environment-client.ts';
import type { EnvironmentPool } from '../../environment/client/pool/environment-pool.ts';
import { hashTargetCode } from '../../environment/client/pool/module-hash.ts';
import type { AgentModel } from '../../models/gateway/agent-call.ts';
import type { Models } from '../../models/gateway/create-model.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import { RegisteredModels } from '../../store/models/registered-models.ts';
import { createRecorder } from '../../store/traces/event-recorder.ts';
import type { NewTrace, TraceStore } from '../../store/traces/trace-store.ts';
import type { Loop } from '../../support/runtime/loop.ts';
import { newId } from '../../support/runtime/new-id.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { LiveSessions } from '../live-sessions.ts';
import type { AgentTurn } from '../session/agent.ts';
import { toQueuedRun } from '../session/queued-run.ts';
import { LiveSeat } from './live-seat.ts';
import { RecentSet } from './model-endpoint/recent-set.ts';
import { SeatEndpoints, type SeatEndpointsOptions } from './seat-endpoints.ts';
import { SeatRows } from './seat-rows.ts';
import { createSeatSecret, hashSeatSecret } from './seat-secret.ts';

export interface SeatsOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Pool of environment processes. Each seat connects to one. */
  readonly pool: Pick<EnvironmentPool, 'connect'>;
  /** Models for agents at a seat, for simulated users and for judges. */
  readonly models: Pick<Models, 'createForAgent' | 'create' | 'harness'>;
  /** For tests. */
  readonly timing?: SeatEndpointsOptions['timing'];
  /**
   * Claims one of the key's places, in the transaction that stores the trace. @throws ApiError if none is free.
   * Default: no limit.
   */
  readonly claim?: (transaction: DatabaseTransaction, traceId: string, keyId: string | null) => Promise<void>;
  /** Frees the place that `claim` took. */
  readonly release?: (traceId: string) => Promise<void>;
  /** Calls `onCancel` when a client cancels the run. Returns a function that stops watching. */
  readonly watchCancel?: (traceId: string, onCancel: () => void) => () => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds without a request until a seat ends. Default 10 minutes. */
  readonly idleMs?: number | undefined;
  /** Milliseconds between two checks for idle seats. Default 5,000. */
  readonly lookEveryMs?: number | undefined;
}

export interface SeatStart {
  /** Request that was checked: its environment exists, and its arguments fit. */
  readonly request: SeatRequest;
  /** Short name of the scenario. */
  readonly scenario: string;
  readonly account: string;
  readonly keyId: string | null;
  /** Makes further writes in the transaction that stores the trace. */
  readonly inTransaction?: ((transaction: DatabaseTransaction, traceId: string) => Promise<void>) | undefined;
}

/** An open seat that an agent may use. */
export interface HeldSeat {
  readonly traceId: string;
  readonly account: string;
  readonly request: SeatRequest;
  /** Ways in which the agent may give its answer. */
  readonly answer: AnswerWay;
  readonly setup: SetupResult;
  readonly seat: LiveSeat;
  readonly createdAt: number;
}

/** A new seat with its secret, which is shown only this once. */
export interface NewSeat extends HeldSeat {
  readonly secret: string;
}

interface SeatWithDoor extends HeldSeat {
  readonly door: SeatEndpoints;
}

const IDLE_MS = 10 * 60_000;
/** Most ended seats whose agents still learn that their run has ended. */
const MAX_ENDED = 10_000;

/** The seats of this process (contract section 8). The caller must close them. */
export class Seats {
  readonly #options: SeatsOptions;
  readonly #rows: SeatRows;
  readonly #ownerId = `seats_${process.pid}_${randomBytes(4).toString('hex')}`;
  /** Open seats and seats that are being opened. */
  readonly #live: LiveSessions<SeatEntry>;
  readonly #byHash = new Map<string, SeatWithDoor>();
  readonly #ended = new RecentSet(MAX_ENDED);
  readonly #watch: Pick<Loop, 'stop'>;

  constructor(options: SeatsOptions) {
    const { database, store, logger, idleMs = IDLE_MS } = options;
    this.#options = options;
    this.#rows = new SeatRows({ database, store, logger, ownerId: this.#ownerId });
    this.#live = new LiveSessions({
      idOf: ({ seat }) => seat.traceId,
      fail: ({ seat }, cause) => seat.fail(cause),
      follow: ({ seat }) => this.#follow(seat),
      expire: ({ seat, door }) => void (door !== undefined && door.idleMs >= idleMs && seat.expire(idleMs)),
      lookEveryMs: options.lookEveryMs ?? PERIODS_MS.idleSessions,
      onError: (error, traceId) => logger.error({ err: error, traceId }, 'The end of a seat could not be written'),
    });
    this.#watch = this.#rows.watch(() => this.#live.isHolding);
  }

  /** Publishes this process's address to others. Called before the first seat is opened. */
  advertise(url: string): void {
    this.#rows.advertise(url);
  }

  /** Name of this server in its seats' rows. */
  get ownerId(): string {
    return this.#ownerId;
  }

  /**
   * Makes a trace, runs the setup of the scenario and opens an endpoint for the agent.
   *
   * @param onCreated called with the trace's id before anything else can fail.
   * @throws ApiError model_not_found, shutting_down, quota_exceeded, capacity_exceeded or run_finished; BoundaryError
   *   `environment` or `setup`. The trace has every failure after `onCreated`.
   */
  async open(start: SeatStart, onCreated: (traceId: string) => void): Promise<NewSeat> {
    this.#live.assertRoom();
    const { store, claim, database } = this.#options;
    const { request, account, keyId } = start;
    const resolved =
      request.model === null ? undefined : await new RegisteredModels(database).resolve(account, request.model);
    const model = resolved && this.#options.models.createForAgent(resolved);
    const traceId = newId();
    const secret = createSeatSecret();
    const secretHash = hashSeatSecret(secret);
    const queued = toQueuedRun({ ...request, origin: 'agent', scenario_name: start.scenario, model: resolved });
    const target = this.#targetOf(request.env_name);
    const codeHash = await hashTargetCode(target).catch(() => null);
    const createdAt = this.#options.now();
    const connection: Connection = { client: undefined };
    const opened = await this.#live.start(async (): Promise<SeatEntry> => {
      await store.create({ traceId, account, keyId, queued }, async (transaction) => {
        await claim?.(transaction, traceId, keyId);
        await this.#rows.insert({ traceId, account, secretHash }, transaction);
        await start.inTransaction?.(transaction, traceId);
      });
      onCreated(traceId);
      const seat = this.#createSeat(traceId, queued, { target, codeHash, connection, hasModel: model !== undefined });
      const opening = seat.open();
      opening.catch(() => {}); // Awaited below, unless the service was closed.
      return { seat, opening, door: undefined };
    });
    const { seat } = opened;
    try {
      const turn = await opened.opening;
      const { setup } = turn;
      const answer = request.answer ?? (model === undefined ? 'tool' : 'either');
      const door = await this.#openDoor(seat, turn, { answer, model, connection });
      opened.door = door;
      const held = { traceId, account, request, answer, setup, seat, createdAt, door };
      if (seat.isOver) {
        await door.close();
        throw new ApiError('run_finished', `The run of trace ${traceId} was ended before its agent could begin.`);
      }
      this.#byHash.set(secretHash, held);
      void seat.ended.then(() => this.#leave(secretHash, held));
      return { ...held, secret };
    } catch (thrown) {
      await seat.fail(thrown);
      throw thrown;
    }
  }

  /** An open seat of an account; undefined if this process has none. */
  find(traceId: string, account: string): HeldSeat | undefined {
    const held = [...this.#byHash.values()].find((each) => each.traceId === traceId);
    return held?.account === account && !held.seat.isOver ? held : undefined;
  }

  /** The endpoints of the seat with this secret. */
  doorOf(secret: string | undefined): SeatEndpoints | 'over' | undefined {
    if (secret === undefined) return undefined;
    const hash = hashSeatSecret(secret);
    const held = this.#byHash.get(hash);
    if (held !== undefined) return held.seat.isOver ? 'over' : held.door;
    return this.#ended.has(hash) ? 'over' : undefined;
  }

  /** Ends the run of a seat without an evaluation. Does nothing for other traces. */
  cancel(traceId: string): void {
    void this.#live.find(traceId)?.seat.cancel();
  }

  /** Ends the traces of seats whose owner is gone as failed. @returns their number. */
  async endOrphans(): Promise<number> {
    return await this.#rows.failOrphans();
  }

  /** Fails every seat. Evaluations in progress get `graceMs` milliseconds to end. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The service that held the seat was shut down');
    await this.#live.close(cause, async () => {
      await Promise.all(this.#live.all().map(({ seat }) => seat.fail(cause, graceMs)));
    });
    await this.#watch.stop();
  }

  #targetOf(name: string): EnvironmentTarget {
    const target = this.#options.environments.get(name);
    if (target === undefined) throw new TypeError(`There is no environment ${name}`);
    return target;
  }

  #createSeat(
    traceId: string,
    queued: NewTrace['queued'],
    way: {
      readonly target: EnvironmentTarget;
      readonly codeHash: string | null;
      readonly connection: Connection;
      readonly hasModel: boolean;
    },
  ): LiveSeat {
    const { store, pool, models } = this.#options;
    const { target, codeHash, connection, hasModel } = way;
    return new LiveSeat({
      traceId,
      hasModel,
      request: queued,
      connect: async (options) => {
        connection.client = await pool.connect(target, { ...options, codeHash });
        return connection.client;
      },
      recorder: createRecorder(store, traceId, 1),
      worker: this.#ownerId,
      environmentHash: codeHash,
      models,
      redactor: store.redactor,
    });
  }

  async #openDoor(
    seat: LiveSeat,
    turn: AgentTurn,
    way: { readonly answer: AnswerWay; readonly model: AgentModel | undefined; readonly connection: Connection },
  ): Promise<SeatEndpoints> {
    const { answer, model, connection } = way;
    const { client } = connection;
    if (client === undefined) throw new TypeError('The scenario was set up without a client');
    const { logger, now, timing, idleMs = IDLE_MS } = this.#options;
    return await SeatEndpoints.open({
      agent: seat.agent,
      turn,
      client,
      setup: turn.setup,
      answer,
      model,
      timing,
      now,
      idleTimeoutMs: idleMs * 2,
      report: (line) => logger.warn({ traceId: seat.traceId }, line),
    });
  }

  /** Waits for the end of a seat and cleans up, even if its agent never started. */
  async #follow(seat: LiveSeat): Promise<void> {
    const { traceId } = seat;
    const stopWatching = this.#options.watchCancel?.(traceId, () => this.cancel(traceId));
    await seat.ended;
    stopWatching?.();
    this.#live.drop(traceId);
    await this.#options.release?.(traceId);
    await this.#rows.end(traceId, 'The end of the seat could not be written; the log of the service says why');
  }

  #leave(secretHash: string, { door, traceId }: SeatWithDoor): void {
    this.#byHash.delete(secretHash);
    this.#ended.add(secretHash);
    this.#live.finish(traceId, () => door.close());
  }
}

/** A seat that is being opened or is open. Only an open one has a `door`. */
interface SeatEntry {
  readonly seat: LiveSeat;
  readonly opening: Promise<AgentTurn>;
  door: SeatEndpoints | undefined;
}

interface Connection {
  client: McpEnvironmentClient | undefined;
}
