import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import type { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import { hashTargetCode } from '../client/module-hash.ts';
import { ApiError } from '../contract/errors.ts';
import type { ResolvedModel } from '../contract/model.ts';
import type { SetupResult } from '../contract/scenario.ts';
import { type AnswerWay, EXTERNAL_MODEL, type SeatRequest } from '../contract/seat.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { AgentModel } from '../model/agent-call.ts';
import type { Models } from '../model/create-model.ts';
import { RegisteredModels, toModelFields } from '../model/registered-models.ts';
import type { AgentTurn } from '../rollout/agent.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import type { NewTrace, TraceStore } from '../trace/trace-store.ts';
import { OpenSeat } from './open-seat.ts';
import { RecentSet } from './recent-set.ts';
import { SeatDoor, type SeatDoorOptions } from './seat-door.ts';
import { SeatRows } from './seat-rows.ts';
import { createSeatSecret, hashSeatSecret } from './seat-secret.ts';

export interface SeatsOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Processes of environments. Asked for with each seat. */
  readonly pool: Pick<EnvironmentPool, 'connect'>;
  /** Models that agents may ask at a seat, and those of users and judges. */
  readonly models: Pick<Models, 'createForAgent' | 'create' | 'harness'>;
  /** For tests. */
  readonly timing?: SeatDoorOptions['timing'];
  /** Takes a place of the key in the transaction that writes the trace. @throws ApiError where it has none. Default: no limit. */
  readonly claim?: (transaction: DatabaseTransaction, traceId: string, keyId: string | null) => Promise<void>;
  /** Gives it back. */
  readonly release?: (traceId: string) => Promise<void>;
  /** Calls back when somebody else asks to cancel the run. Returns the way to stop. */
  readonly watchCancel?: (traceId: string, onCancel: () => void) => () => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds without a request after which a seat is ended. Default 10 minutes. */
  readonly idleMs?: number | undefined;
  /** Milliseconds between two looks at who is idle. Default 5,000. */
  readonly lookEveryMs?: number | undefined;
}

export interface SeatStart {
  /** Checked: its environment exists, and its arguments fit. */
  readonly request: SeatRequest;
  /** Short name of the scenario. */
  readonly scenario: string;
  readonly account: string;
  readonly keyId: string | null;
}

/** A seat that an agent may take now. */
export interface HeldSeat {
  readonly traceId: string;
  readonly account: string;
  readonly request: SeatRequest;
  /** How its agent gives its answer. */
  readonly answer: AnswerWay;
  readonly setup: SetupResult;
  readonly seat: OpenSeat;
  readonly createdAt: number;
}

/** The only time that the secret is told. */
export interface NewSeat extends HeldSeat {
  readonly secret: string;
}

interface Held extends HeldSeat {
  readonly door: SeatDoor;
}

const IDLE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** Secrets of runs that have ended, whose agents are told so. */
const MAX_ENDED = 10_000;

/** The seats of this process (contract section 8). Whoever made it closes it. */
export class Seats {
  readonly #options: SeatsOptions;
  readonly #rows: SeatRows;
  readonly #ownerId = `seats_${process.pid}_${randomBytes(4).toString('hex')}`;
  /** Those that are being opened, too. */
  readonly #open = new Map<string, OpenSeat>();
  readonly #byHash = new Map<string, Held>();
  readonly #ending = new Set<Promise<void>>();
  readonly #ended = new RecentSet(MAX_ENDED);
  readonly #timer: NodeJS.Timeout;
  readonly #stopWatch: () => void;
  #closed: ApiError | undefined;

  constructor(options: SeatsOptions) {
    const { database, store, logger, lookEveryMs = LOOK_EVERY_MS } = options;
    this.#options = options;
    this.#rows = new SeatRows({ database, store, logger, ownerId: this.#ownerId });
    this.#timer = setInterval(() => this.expire(), lookEveryMs).unref();
    this.#stopWatch = this.#rows.watch(() => this.#open.size > 0);
  }

  /** Tells other processes where they reach this one. Before the first seat is opened. */
  advertise(url: string): void {
    this.#rows.advertise(url);
  }

  /** Name of this server in the rows of its seats. */
  get ownerId(): string {
    return this.#ownerId;
  }

  /** Seats that are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Makes a trace, sets the scenario up and opens an endpoint for its agent.
   *
   * @param onCreated told of the trace before anything can fail.
   * @throws ApiError model_not_found, shutting_down, quota_exceeded, capacity_exceeded or run_finished; BoundaryError `environment` or
   *   `setup`. What fails after `onCreated` is in the trace.
   */
  async open(start: SeatStart, onCreated: (traceId: string) => void): Promise<NewSeat> {
    if (this.#closed !== undefined) throw this.#closed;
    const { store, claim, database } = this.#options;
    const { request, account, keyId } = start;
    const resolved =
      request.model === null ? undefined : await new RegisteredModels(database).resolve(account, request.model);
    const model = resolved && this.#options.models.createForAgent(resolved);
    const traceId = randomBytes(16).toString('hex');
    const secret = createSeatSecret();
    const secretHash = hashSeatSecret(secret);
    const queued = toQueued(request, start.scenario, resolved);
    const target = this.#targetOf(request.env_name);
    const codeHash = await hashTargetCode(target).catch(() => null);
    const createdAt = this.#options.now();
    await store.create({ traceId, account, keyId, queued }, async (transaction) => {
      await claim?.(transaction, traceId, keyId);
      await this.#rows.insert({ traceId, account, secretHash }, transaction);
    });
    onCreated(traceId);
    const connection: Connection = { client: undefined };
    const seat = this.#createSeat(traceId, queued, { target, codeHash, connection, hasModel: model !== undefined });
    this.#open.set(traceId, seat);
    try {
      const opening = seat.open();
      this.#follow(seat);
      // It was closed while the trace was written: nothing else would end it.
      if (this.#closed !== undefined) void seat.fail(this.#closed);
      const turn = await opening;
      const { setup } = turn;
      const answer = request.answer ?? (model === undefined ? 'tool' : 'either');
      const door = await this.#openDoor(seat, turn, { answer, model, connection });
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

  /** An open seat of an account; undefined where there is none here. */
  find(traceId: string, account: string): HeldSeat | undefined {
    const held = [...this.#byHash.values()].find((each) => each.traceId === traceId);
    return held?.account === account && !held.seat.isOver ? held : undefined;
  }

  /** The door of the seat with this secret. */
  doorOf(secret: string | undefined): SeatDoor | 'over' | undefined {
    if (secret === undefined) return undefined;
    const hash = hashSeatSecret(secret);
    const held = this.#byHash.get(hash);
    if (held !== undefined) return held.seat.isOver ? 'over' : held.door;
    return this.#ended.has(hash) ? 'over' : undefined;
  }

  /** Ends the run of a seat without an evaluation; another trace is none of its business. */
  cancel(traceId: string): void {
    void this.#open.get(traceId)?.cancel();
  }

  /** Ends the seats whose agents have not been heard of for too long. */
  expire(): void {
    const { idleMs = IDLE_MS } = this.#options;
    for (const { seat, door } of this.#byHash.values()) if (door.idleMs >= idleMs) seat.expire(idleMs);
  }

  /** Ends the traces of seats whose owner is gone, as failed. @returns how many. */
  async endOrphans(): Promise<number> {
    return await this.#rows.failOrphans();
  }

  /** Fails every seat; evaluations that go on may end within `graceMs`. Never rejects. */
  async close(graceMs: number): Promise<void> {
    const cause = new ApiError('shutting_down', 'The service that held the seat was shut down');
    this.#closed = cause;
    clearInterval(this.#timer);
    await Promise.all([...this.#open.values()].map((seat) => seat.fail(cause, graceMs)));
    await Promise.all(this.#ending);
    this.#stopWatch();
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
  ): OpenSeat {
    const { store, pool, models } = this.#options;
    const { target, codeHash, connection, hasModel } = way;
    return new OpenSeat({
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
    seat: OpenSeat,
    turn: AgentTurn,
    way: { readonly answer: AnswerWay; readonly model: AgentModel | undefined; readonly connection: Connection },
  ): Promise<SeatDoor> {
    const { answer, model, connection } = way;
    const { client } = connection;
    if (client === undefined) throw new TypeError('The scenario was set up without a client');
    const { logger, now, timing, idleMs = IDLE_MS } = this.#options;
    return await SeatDoor.open({
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

  /** Cleans up after a seat, whether its agent could begin or not. */
  #follow(seat: OpenSeat): void {
    const { traceId } = seat;
    const stopWatching = this.#options.watchCancel?.(traceId, () => this.cancel(traceId));
    this.#keep(async () => {
      await seat.ended;
      stopWatching?.();
      this.#open.delete(traceId);
      await this.#options.release?.(traceId);
      await this.#rows.end(traceId, 'The end of the seat could not be written; the log of the service says why');
    }, traceId);
  }

  #leave(secretHash: string, { door, traceId }: Held): void {
    this.#byHash.delete(secretHash);
    this.#ended.add(secretHash);
    this.#keep(() => door.close(), traceId);
  }

  /** Work that `close` waits for. */
  #keep(work: () => Promise<void>, traceId: string): void {
    const { logger } = this.#options;
    const working = work()
      .catch((error: unknown) => logger.error({ err: error, traceId }, 'The end of a seat could not be written'))
      .finally(() => this.#ending.delete(working));
    this.#ending.add(working);
  }
}

interface Connection {
  client: McpEnvironmentClient | undefined;
}

function toQueued(request: SeatRequest, scenario: string, model: ResolvedModel | undefined): NewTrace['queued'] {
  return {
    origin: 'agent',
    env_name: request.env_name,
    scenario_name: scenario,
    scenario_args: request.scenario_args,
    ...(model === undefined ? { model: EXTERNAL_MODEL } : toModelFields(model)),
    max_steps: request.max_steps,
    timeout_seconds: request.timeout_seconds,
    seed: request.seed,
    sampling: request.sampling,
    metadata: request.metadata,
    priority: request.priority,
    ...(request.user_model === null ? {} : { user_model: request.user_model }),
    ...(request.judge_model === null ? {} : { judge_model: request.judge_model }),
  };
}
