import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { listAgentResources, readAgentResource } from '../client/agent-resources.ts';
import type { EnvironmentTarget } from '../client/environment-client.ts';
import type { EnvironmentPool } from '../client/environment-pool.ts';
import type { McpEnvironmentClient } from '../client/mcp-environment-client.ts';
import { hashTargetCode } from '../client/module-hash.ts';
import { ApiError, BoundaryError } from '../contract/errors.ts';
import type { SetupResult } from '../contract/scenario.ts';
import { EXTERNAL_MODEL, type SeatRequest, SUBMIT_ANSWER } from '../contract/seat.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import { DEFAULT_BODY_LIMIT_BYTES } from '../http/body.ts';
import { type MountedEndpoint, mountEndpoint } from '../mcp/http/mounted-endpoint.ts';
import { createRecorder } from '../trace/event-recorder.ts';
import type { NewTrace, TraceStore } from '../trace/trace-store.ts';
import { OpenRequests } from './open-requests.ts';
import { OpenSeat } from './open-seat.ts';
import { SeatRows } from './seat-rows.ts';
import { createSeatSecret, hashSeatSecret } from './seat-secret.ts';
import { SeatServer } from './seat-server.ts';

export interface SeatsOptions {
  readonly environments: ReadonlyMap<string, EnvironmentTarget>;
  readonly database: Database;
  readonly store: TraceStore;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  /** Processes of environments. Asked for with each seat. */
  readonly pool: Pick<EnvironmentPool, 'connect'>;
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
  readonly setup: SetupResult;
  readonly seat: OpenSeat;
  readonly createdAt: number;
}

/** The only time that the secret is told. */
export interface NewSeat extends HeldSeat {
  readonly secret: string;
}

interface Held extends HeldSeat {
  readonly endpoint: MountedEndpoint;
  readonly requests: OpenRequests;
}

const IDLE_MS = 10 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** MCP sessions of one seat; the one that was idle longest gives way. */
const MAX_MCP_SESSIONS = 100;
/** Milliseconds for replies that are on their way when a seat ends, and for the MCP sessions to end. */
const LAST_REPLIES_MS = 2_000;

/** The seats of this process (contract section 8). Whoever made it closes it. */
export class Seats {
  readonly #options: SeatsOptions;
  readonly #rows: SeatRows;
  readonly #ownerId = `seats_${process.pid}_${randomBytes(4).toString('hex')}`;
  /** Those that are being opened, too. */
  readonly #open = new Map<string, OpenSeat>();
  readonly #byHash = new Map<string, Held>();
  readonly #ending = new Set<Promise<void>>();
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

  /** Seats that are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Makes a trace, sets the scenario up and opens an endpoint for its agent.
   *
   * @param onCreated told of the trace before anything can fail.
   * @throws ApiError shutting_down, quota_exceeded, capacity_exceeded or run_finished; BoundaryError `environment` or
   *   `setup`. What fails after `onCreated` is in the trace.
   */
  async open(start: SeatStart, onCreated: (traceId: string) => void): Promise<NewSeat> {
    if (this.#closed !== undefined) throw this.#closed;
    const { store, claim } = this.#options;
    const { request, account, keyId } = start;
    const traceId = randomBytes(16).toString('hex');
    const secret = createSeatSecret();
    const secretHash = hashSeatSecret(secret);
    const queued = toQueued(request, start.scenario);
    const target = this.#targetOf(request.env_name);
    const codeHash = await hashTargetCode(target).catch(() => null);
    const createdAt = this.#options.now();
    await store.create({ traceId, account, keyId, queued }, async (transaction) => {
      await claim?.(transaction, traceId, keyId);
      await this.#rows.insert({ traceId, account, secretHash }, transaction);
    });
    onCreated(traceId);
    const connection: Connection = { client: undefined };
    const seat = this.#createSeat(traceId, queued, { target, codeHash, connection });
    this.#open.set(traceId, seat);
    try {
      const opening = seat.open();
      this.#follow(seat);
      // It was closed while the trace was written: nothing else would end it.
      if (this.#closed !== undefined) void seat.fail(this.#closed);
      const setup = await opening;
      const endpoint = await this.#openEndpoint(seat, setup, connection);
      const held = { traceId, account, request, setup, seat, createdAt, endpoint, requests: this.#newRequests() };
      if (seat.isOver) {
        await endpoint.close(0);
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

  /** Answers a request of MCP with this secret. @returns false where no open seat has it. */
  async handle(request: IncomingMessage, response: ServerResponse, secret: string | undefined): Promise<boolean> {
    const held = secret === undefined ? undefined : this.#byHash.get(hashSeatSecret(secret));
    if (held === undefined || held.seat.isOver) return false;
    if (isWork(request)) held.requests.add(response);
    await held.endpoint.handle(request, response, 'agent');
    return true;
  }

  /** Ends the run of a seat without an evaluation; another trace is none of its business. */
  cancel(traceId: string): void {
    void this.#open.get(traceId)?.cancel();
  }

  /** Ends the seats whose agents have not been heard of for too long. */
  expire(): void {
    const { idleMs = IDLE_MS } = this.#options;
    for (const { seat, requests } of this.#byHash.values()) if (requests.idleMs >= idleMs) seat.expire(idleMs);
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
    },
  ): OpenSeat {
    const { store, pool } = this.#options;
    const { target, codeHash, connection } = way;
    return new OpenSeat({
      traceId,
      request: queued,
      connect: async (options) => {
        connection.client = await pool.connect(target, { ...options, codeHash });
        return connection.client;
      },
      recorder: createRecorder(store, traceId, 1),
      worker: this.#ownerId,
      environmentHash: codeHash,
      redactor: store.redactor,
    });
  }

  /** The MCP server of a seat that is set up. */
  async #openEndpoint(seat: OpenSeat, setup: SetupResult, { client }: Connection): Promise<MountedEndpoint> {
    if (client === undefined) throw new TypeError('The scenario was set up without a client');
    const signal = AbortSignal.timeout(READ_LISTS_MS);
    const [tools, resources] = await Promise.all([
      client.tools({ patterns: setup.tools, signal }),
      listAgentResources(client, { signal }),
    ]);
    if (tools.some(({ name }) => name === SUBMIT_ANSWER)) {
      const message = `The environment has a tool ${SUBMIT_ANSWER} of its own, by which an agent at a seat gives its answer: name it otherwise`;
      throw new BoundaryError('setup', 'environment_failed', message);
    }
    const { name, version } = client;
    const source = () =>
      new SeatServer({
        name,
        version,
        setup,
        tools,
        resources,
        call: (tool, args, abort) => seat.call(tool, args, abort),
        read: (uri, abort) => readAgentResource(client, uri, { signal: abort }),
        submit: (answer) => seat.submit(answer),
      });
    return mountEndpoint(source, {
      report: (line) => this.#options.logger.warn({ traceId: seat.traceId }, line),
      maxSessions: MAX_MCP_SESSIONS,
      idleTimeoutMs: (this.#options.idleMs ?? IDLE_MS) * 2,
      maxBodyBytes: DEFAULT_BODY_LIMIT_BYTES,
    });
  }

  #newRequests(): OpenRequests {
    return new OpenRequests(this.#options.now);
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

  #leave(secretHash: string, { endpoint, requests, traceId }: Held): void {
    this.#byHash.delete(secretHash);
    this.#keep(async () => {
      await requests.none(LAST_REPLIES_MS);
      await endpoint.close(LAST_REPLIES_MS);
    }, traceId);
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

/** A stream that waits for messages is none, of either era. On 2026-07-28 the header has to say what the body asks. */
function isWork({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['mcp-method'] !== 'subscriptions/listen';
}

/** Milliseconds for the lists of an environment that is set up. */
const READ_LISTS_MS = 60_000;

interface Connection {
  client: McpEnvironmentClient | undefined;
}

function toQueued(request: SeatRequest, scenario: string): NewTrace['queued'] {
  return {
    origin: 'agent',
    env_name: request.env_name,
    scenario_name: scenario,
    scenario_args: request.scenario_args,
    model: request.model ?? EXTERNAL_MODEL,
    max_steps: request.max_steps,
    timeout_seconds: request.timeout_seconds,
    seed: request.seed,
    sampling: request.sampling,
    metadata: request.metadata,
    priority: request.priority,
  };
}
