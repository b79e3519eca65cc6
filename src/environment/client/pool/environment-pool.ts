import { BoundaryError, messageOf } from '../../../contract/errors.ts';
import type { HostConnection, HostedSessionOptions } from '../../process/host-connection.ts';
import { type StartFigures, StartLimiter } from '../../process/start-limiter.ts';
import { Limit, type StartKind } from '../../process/waiting-line.ts';
import { connectEnvironment, connectOver } from '../connect.ts';
import type { ConnectOptions, EnvironmentTarget } from '../environment-client.ts';
import { memoryOf } from '../environment-link.ts';
import type { McpEnvironmentClient } from '../mcp-environment-client.ts';
import { type HostedEnvironment, type HostFigures, HostPool, startHost } from './host-pool.ts';
import type { createHost } from './hosted-link.ts';
import { hashTargetCode } from './module-hash.ts';
import type { Host } from './pooled-host.ts';
import { SessionShares } from './session-shares.ts';
import { type WarmConnectOptions, WarmPool, type WarmPoolOptions } from './warm-pool.ts';

export interface EnvironmentPoolOptions extends Omit<WarmPoolOptions, 'connect'> {
  /** Maximum number of hosts of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a chat session may wait until its start begins. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Maximum number of sessions that get an unshared process at one time. Default: as many as fit into memory. */
  readonly maxAlone?: number | undefined;
}

export interface PoolConnectOptions extends WarmConnectOptions {
  /** True gives the session a process that no other session shares. */
  readonly isAlone?: boolean | undefined;
}

/** Numbers of processes of one environment, for gauges. */
export interface PoolFigures {
  /** Processes that hold one session. */
  readonly sessions: number;
  /** Processes that wait for a session. */
  readonly spares: number;
  readonly hosts: readonly HostFigures[];
}

type ModuleTarget = Extract<EnvironmentTarget, { kind: 'module' }>;
type ShareRequest = Pick<WarmConnectOptions, 'codeHash' | 'kind' | 'since'> & {
  readonly signal?: AbortSignal | undefined;
};
type OpenSession = (options: HostedSessionOptions) => HostConnection;

const MEBIBYTE = 1024 * 1024;
/** Estimated memory of a process for one session. */
export const PROCESS_BYTES = 100 * MEBIBYTE;
/** Number of sessions that hosts open at one time. Hundreds at once would block the event loop. */
const OPENINGS = 16;
/** Milliseconds after which the next session is opened anyway, because an initialize hook may take a minute. */
const OPENING_MS = 1_000;

/**
 * The environment processes of this process of Proctor. Environments whose sessions share a process run in hosts; the
 * others get one process for each session. The pool also limits how many processes start at once. The caller that makes
 * a pool has to close it.
 */
export class EnvironmentPool {
  readonly #starts: StartLimiter;
  readonly #warm: WarmPool;
  readonly #hosts: HostPool<EnvironmentTarget, OpenSession>;
  readonly #hosted = new Map<EnvironmentTarget, HostedEnvironment<OpenSession>>();
  readonly #shares: SessionShares;
  /** Number of open processes that hold one session. */
  readonly #single = new Map<EnvironmentTarget, number>();
  readonly #opening = new Limit(OPENINGS);
  /** Limits the unshared processes. If a host with hundreds of runs dies, memory may not suffice for all of them. */
  readonly #alone: Limit;
  readonly #options: EnvironmentPoolOptions;
  readonly #onLog = ({ message }: { readonly message: string }) => this.#options.report?.(message);
  #isShuttingDown = false;

  constructor(options: EnvironmentPoolOptions) {
    this.#options = options;
    this.#starts = new StartLimiter({ waitMs: options.startTimeoutMs });
    this.#hosts = new HostPool({ starts: this.#starts, hosts: options.hosts });
    this.#alone = new Limit(options.maxAlone ?? Math.max(1, Math.floor(process.availableMemory() / PROCESS_BYTES)));
    this.#warm = new WarmPool({ ...options, connect: (...start) => this.#start(...start) });
    this.#shares = new SessionShares({ read: (target, signal) => this.#readShare(target, signal) });
  }

  /**
   * Opens a new session of an environment.
   *
   * @throws ApiError `capacity_exceeded` if a chat session waited too long for a process. @throws BoundaryError and the
   *   reason of the signal, as `connectEnvironment`.
   */
  async connect(target: EnvironmentTarget, options: PoolConnectOptions): Promise<McpEnvironmentClient> {
    const { isAlone = false, ...connectOptions } = options;
    if (target.kind !== 'module' || options.isForReading) return await this.#warm.connect(target, connectOptions);
    if (isAlone) return await this.#startAlone(target, connectOptions);
    // One time limit covers both waits: for the number of sessions per process, and for a place.
    const arrived = { ...connectOptions, since: performance.now() };
    const sessions = await this.#sessionsOf(target, arrived);
    if (sessions === 1) return await this.#warm.connect(target, arrived);
    return await this.#enterHost(target, sessions, arrived);
  }

  /**
   * Opens a session in a new process, to read what an environment offers or to test whether it starts. It uses up no
   * process that waits for sessions. The process is a host if the environment's other sessions run in hosts. There is
   * no limit on the wait for the start.
   *
   * @throws BoundaryError and the reason of the signal, as `connectEnvironment`.
   */
  async read(target: EnvironmentTarget, options: ConnectOptions): Promise<McpEnvironmentClient> {
    if (target.kind !== 'module') return await this.#start(target, options, 'run');
    const codeHash = await hashTargetCode(target);
    if (options.isForReading) {
      const client = await this.#start(target, options, 'run');
      this.#shares.learn(target, codeHash, client.sessionsPerProcess);
      return client;
    }
    const sessions = await this.#sessionsOf(target, { codeHash, kind: 'run', signal: options.signal });
    return sessions === 1 ? await this.#start(target, options, 'run') : await this.#startAsHost(target, options);
  }

  /** Number of sessions that its hosts hold together. Undefined if its sessions share no process as far as is known. */
  capacityOf(target: EnvironmentTarget): number | undefined {
    if (target.kind !== 'module') return undefined;
    const sessions = target.limits?.sessionsPerProcess ?? this.#shares.of(target) ?? 1;
    return sessions === 1 ? undefined : sessions * this.#hosts.perEnvironment;
  }

  /** True if a new session would get a place before another session ends. */
  hasRoom(target: EnvironmentTarget): boolean {
    return this.#hosts.hasRoom(target);
  }

  /** Starts processes that wait for sessions, unless the sessions of the environment share processes. */
  warm(target: EnvironmentTarget): void {
    if (target.kind === 'module') void this.#warmUnshared(target);
    else this.#warm.warm(target);
  }

  /** Number of processes that wait for a session of an environment. */
  ready(target: EnvironmentTarget): number {
    return this.#warm.ready(target);
  }

  get starts(): StartFigures {
    const { waiting, ...figures } = this.#starts.figures;
    return {
      ...figures,
      waiting: [...this.#hosted.keys()].reduce(
        (sum, each) => sum + this.#hosts.figures(each).waiting,
        waiting + this.#alone.waiting + this.#shares.waiting,
      ),
    };
  }

  figures(target: EnvironmentTarget): PoolFigures {
    return {
      sessions: this.#single.get(target) ?? 0,
      spares: this.#warm.ready(target),
      hosts: this.#hosts.figures(target).hosts,
    };
  }

  /**
   * Announces that this process is shutting down. Sessions in hosts that end from now on run their shutdown hooks, as
   * sessions in their own process always do. Waiting processes are ended. Open sessions go on until `close`.
   */
  shutDown(): void {
    this.#isShuttingDown = true;
    void this.#warm.close();
  }

  /** Ends all hosts and all processes without a session, also those that are starting. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#shares.close(), this.#warm.close(), this.#hosts.close()]);
  }

  /** The number of sessions that share a process of the current code. */
  async #sessionsOf(target: ModuleTarget, { codeHash, kind = 'chat', signal, since }: ShareRequest): Promise<number> {
    const { sessionsPerProcess } = target.limits ?? {};
    if (sessionsPerProcess !== undefined) return sessionsPerProcess;
    const starts = this.#starts;
    const limits =
      kind === 'chat'
        ? { limitMs: starts.remainingMs(since), toRefusal: () => starts.refusal(this.#shares.waiting) }
        : {};
    const sessions = await this.#shares.find(target, codeHash, { signal, ...limits });
    // An earlier version of the code may have had another number, and its processes may still wait.
    if (sessions > 1) this.#warm.drop(target);
    return sessions;
  }

  async #readShare(target: EnvironmentTarget, signal: AbortSignal): Promise<number> {
    const client = await this.#start(target, { signal, isForReading: true }, 'run');
    await client.close();
    return client.sessionsPerProcess;
  }

  /** Starts waiting processes, unless sessions share processes: there no initialize hook runs without a session. */
  async #warmUnshared(target: ModuleTarget): Promise<void> {
    const codeHash = await hashTargetCode(target);
    // Errors are ignored here: the waiting processes report a failed start and try again.
    const sessions = await this.#sessionsOf(target, { codeHash, kind: 'run' }).catch(() => 1);
    if (sessions === 1) this.#warm.warm(target);
  }

  async #enterHost(target: ModuleTarget, capacity: number, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { codeHash, kind = 'chat', since, ...connectOptions } = options;
    const { signal } = options;
    const { createHost, openHosted } = await import('./hosted-link.ts');
    const environment = this.#environmentOf(target, createHost);
    const place = await this.#hosts.enter(target, { environment, capacity, codeHash, kind, since, signal });
    const leave = await this.#opening.enter(kind, signal).catch((error: unknown) => {
      place.leave();
      throw error;
    });
    options.onAdmitted?.();
    const limit = setTimeout(leave, OPENING_MS);
    try {
      const isShuttingDown = () => this.#isShuttingDown;
      const link = openHosted(target, place.session, place.leave, { ...connectOptions, isShuttingDown });
      return await connectOver(link, connectOptions);
    } finally {
      clearTimeout(limit);
      leave();
    }
  }

  #environmentOf(target: ModuleTarget, create: typeof createHost): HostedEnvironment<OpenSession> {
    const known = this.#hosted.get(target);
    if (known !== undefined) return known;
    const memoryMiB = memoryOf(target);
    const environment: HostedEnvironment<OpenSession> = {
      ...(memoryMiB === 0 ? {} : { memoryBytes: memoryMiB * MEBIBYTE }),
      launch: (onState) => launch(create(target, { onLog: this.#onLog, onGauges: onState })),
    };
    this.#hosted.set(target, environment);
    return environment;
  }

  /** Starts an unshared process for a session whose environment otherwise shares processes. */
  async #startAlone(target: ModuleTarget, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { kind = 'chat', signal } = options;
    const leave = await this.#alone.enter(kind, signal);
    try {
      const client = await this.#start(target, options, kind);
      void client.closed.then(leave);
      return client;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Opens a session in a new host. No other session enters this host, and it ends with the session. */
  async #startAsHost(target: ModuleTarget, options: ConnectOptions): Promise<McpEnvironmentClient> {
    const { createHost, openHosted } = await import('./hosted-link.ts');
    const place = await this.#starts.enter('run', options.signal);
    options.onAdmitted?.();
    const host = launch(createHost(target, { onLog: this.#onLog, onGauges: () => {} }));
    void host.ended.then(() => place.end());
    try {
      await startHost(host, options.signal);
      place.ready();
      return await connectOver(
        openHosted(target, host.session(), () => host.close(), options),
        options,
      );
    } catch (error) {
      await host.close();
      throw error;
    }
  }

  /** Starts a process for one session as soon as the start limit allows it. */
  async #start(
    target: EnvironmentTarget,
    options: ConnectOptions,
    kind: StartKind,
    since?: number,
  ): Promise<McpEnvironmentClient> {
    const isProcess = target.kind === 'module' || target.kind === 'command';
    const place = isProcess ? await this.#starts.enter(kind, options.signal, since) : undefined;
    options.onAdmitted?.();
    if (place === undefined) return await connectEnvironment(target, options);
    try {
      const client = await connectEnvironment(target, { ...options, onReady: () => place.ready() });
      place.ready();
      this.#single.set(target, (this.#single.get(target) ?? 0) + 1);
      void client.closed.then(() => {
        place.end();
        this.#single.set(target, (this.#single.get(target) ?? 1) - 1);
      });
      return client;
    } catch (error) {
      place.end();
      throw error;
    }
  }
}

function launch(host: ReturnType<typeof createHost>): Host<OpenSession> {
  return {
    ended: host.ended,
    async start(signal) {
      try {
        return await host.start(signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const lastWords = host.lastWords === '' ? '' : `. Its last lines on standard error:\n${host.lastWords}`;
        const message = `A process for many sessions could not be started: ${messageOf(error)}${lastWords}`;
        throw new BoundaryError('environment', 'environment_failed', message, { cause: error });
      }
    },
    session: () => (options) => host.connect(options),
    drain: () => host.drain(),
    close: () => host.close(),
  };
}
