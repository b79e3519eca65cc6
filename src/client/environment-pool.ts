import { BoundaryError, messageOf } from '../contract/errors.ts';
import type { HostConnection, HostedSessionOptions } from '../process/host-connection.ts';
import { type StartFigures, StartLine } from '../process/start-line.ts';
import { Limit, type StartKind } from '../process/waiting-line.ts';
import { untilAborted } from '../runtime/deadline.ts';
import { connectEnvironment, connectOver } from './connect.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import { memoryOf } from './environment-link.ts';
import { type HostedEnvironment, type HostFigures, HostPool } from './host-pool.ts';
import { createHost, openHosted } from './hosted-link.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';
import type { Host } from './pooled-host.ts';
import { type WarmConnectOptions, WarmPool, type WarmPoolOptions } from './warm-pool.ts';

export interface EnvironmentPoolOptions extends Omit<WarmPoolOptions, 'connect'> {
  /** Hosts of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Milliseconds that a chat session may wait for the beginning of its start. Default 60,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Sessions at one time that are to be alone. Default: as many as there is memory for. */
  readonly maxAlone?: number | undefined;
}

export interface PoolConnectOptions extends WarmConnectOptions {
  /** Gives it a process that no other session shares. */
  readonly isAlone?: boolean | undefined;
}

/** The processes of one environment, for gauges. */
export interface PoolFigures {
  /** Processes of one session. */
  readonly sessions: number;
  /** Processes that wait for a session. */
  readonly spares: number;
  readonly hosts: readonly HostFigures[];
}

type ModuleTarget = Extract<EnvironmentTarget, { kind: 'module' }>;
type OpenSession = (options: HostedSessionOptions) => HostConnection;

const MEBIBYTE = 1024 * 1024;
/** Memory of a process for one session. */
export const PROCESS_BYTES = 100 * MEBIBYTE;
/**
 * Sessions of hosts that are opened at one time. Hundreds that arrive at one moment would else go through each step
 * together, and the event loop would have no turn for anybody else meanwhile.
 */
const OPENINGS = 16;
/** Milliseconds after which the next session is opened all the same: an initialize hook may take a minute. */
const OPENING_MS = 1_000;

/**
 * The environment processes of this process of Proctor: hosts for environments whose sessions share one, and processes for
 * one session each for the others. It admits their starts. Whoever made it closes it.
 */
export class EnvironmentPool {
  readonly #starts: StartLine;
  readonly #warm: WarmPool;
  readonly #hosts: HostPool<EnvironmentTarget, OpenSession>;
  readonly #hosted = new Map<EnvironmentTarget, HostedEnvironment<OpenSession>>();
  /** Sessions that may share a process, of environments that have said so. */
  readonly #shares = new Map<EnvironmentTarget, KnownShare>();
  /** Processes of one session that are open. */
  readonly #single = new Map<EnvironmentTarget, number>();
  readonly #opening = new Limit(OPENINGS);
  /** The runs of a host that died may be hundreds: a process for each of them at once may be more than the machine holds. */
  readonly #alone: Limit;
  readonly #options: EnvironmentPoolOptions;

  constructor(options: EnvironmentPoolOptions) {
    this.#options = options;
    this.#starts = new StartLine({ waitMs: options.startTimeoutMs });
    this.#hosts = new HostPool({ starts: this.#starts, hosts: options.hosts });
    this.#alone = new Limit(options.maxAlone ?? Math.max(1, Math.floor(process.availableMemory() / PROCESS_BYTES)));
    this.#warm = new WarmPool({ ...options, connect: (...start) => this.#start(...start) });
  }

  /**
   * A session of its own of an environment.
   *
   * @throws ApiError `capacity_exceeded` where a chat session has waited too long for a process. @throws BoundaryError and
   *   the reason of the signal, as `connectEnvironment`.
   */
  async connect(target: EnvironmentTarget, options: PoolConnectOptions): Promise<McpEnvironmentClient> {
    const { isAlone = false, ...connectOptions } = options;
    if (target.kind !== 'module' || options.isForReading) return await this.#warm.connect(target, connectOptions);
    if (isAlone) return await this.#startAlone(target, connectOptions);
    const known = await this.#shareOf(target, connectOptions);
    if (known.client !== undefined) return known.client;
    if (known.sessions === 1) return await this.#warm.connect(target, connectOptions);
    return await this.#enterHost(target, known.sessions, connectOptions);
  }

  /**
   * A session of its own in a process of its own, to read what an environment offers: no process that waits for sessions
   * is used up. Its start waits in the line, for as long as that takes.
   *
   * @throws BoundaryError and the reason of the signal, as `connectEnvironment`.
   */
  async read(target: EnvironmentTarget, options: ConnectOptions): Promise<McpEnvironmentClient> {
    return await this.#start(target, options, 'run');
  }

  /** Sessions that its hosts hold together; undefined where its sessions share no process, or it has not said so yet. */
  capacityOf(target: EnvironmentTarget): number | undefined {
    if (target.kind !== 'module') return undefined;
    const sessions = target.limits?.sessionsPerProcess ?? this.#shares.get(target)?.sessions ?? 1;
    return sessions === 1 ? undefined : sessions * this.#hosts.perEnvironment;
  }

  /** Whether a session of it would get a place without waiting for another to end. */
  hasRoom(target: EnvironmentTarget): boolean {
    return this.#hosts.hasRoom(target);
  }

  /** Starts processes of an environment that wait for sessions, where it shares none. */
  warm(target: EnvironmentTarget): void {
    this.#warm.warm(target);
  }

  /** Processes that wait for a session of an environment. */
  ready(target: EnvironmentTarget): number {
    return this.#warm.ready(target);
  }

  get starts(): StartFigures {
    const { waiting, ...figures } = this.#starts.figures;
    return {
      ...figures,
      waiting: [...this.#hosted.keys()].reduce(
        (sum, each) => sum + this.#hosts.figures(each).waiting,
        waiting + this.#alone.waiting,
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

  /** Ends all hosts and the processes that no session has, also those that are being started. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([this.#warm.close(), this.#hosts.close()]);
  }

  /**
   * How many sessions share a process of the current code. The first session of new code finds out, in a process of its
   * own, while the others wait.
   */
  async #shareOf(target: ModuleTarget, options: WarmConnectOptions): Promise<Share> {
    const { sessionsPerProcess } = target.limits ?? {};
    if (sessionsPerProcess !== undefined) return { sessions: sessionsPerProcess };
    for (;;) {
      const known = this.#shares.get(target);
      if (known?.codeHash !== options.codeHash || known === undefined) return await this.#learn(target, options);
      if (known.sessions !== undefined) return { sessions: known.sessions };
      const { signal } = options;
      await (signal === undefined ? known.learning : untilAborted(known.learning, signal));
    }
  }

  async #learn(target: ModuleTarget, options: WarmConnectOptions): Promise<Share> {
    const { codeHash } = options;
    const connecting = this.#warm.connect(target, options);
    const learning: Promise<unknown> = connecting.then(
      ({ sessionsPerProcess }) => {
        this.#shares.set(target, { codeHash, sessions: sessionsPerProcess, learning });
        // No initialize hook runs there without a session.
        if (sessionsPerProcess > 1) this.#warm.drop(target);
      },
      () => this.#shares.delete(target),
    );
    this.#shares.set(target, { codeHash, sessions: undefined, learning });
    const client = await connecting;
    return { sessions: client.sessionsPerProcess, client };
  }

  async #enterHost(target: ModuleTarget, capacity: number, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { codeHash, kind = 'chat', ...connectOptions } = options;
    const environment = this.#environmentOf(target);
    const place = await this.#hosts.enter(target, { environment, capacity, codeHash, kind, signal: options.signal });
    const leave = await this.#opening.enter(kind, options.signal).catch((error: unknown) => {
      place.leave();
      throw error;
    });
    options.onAdmitted?.();
    const limit = setTimeout(leave, OPENING_MS);
    try {
      const link = openHosted(target, place.session, place.leave, connectOptions);
      return await connectOver(link, connectOptions);
    } finally {
      clearTimeout(limit);
      leave();
    }
  }

  #environmentOf(target: ModuleTarget): HostedEnvironment<OpenSession> {
    const known = this.#hosted.get(target);
    if (known !== undefined) return known;
    const memoryMiB = memoryOf(target);
    const environment: HostedEnvironment<OpenSession> = {
      ...(memoryMiB === 0 ? {} : { memoryBytes: memoryMiB * MEBIBYTE }),
      launch: (onState) => launch(target, this.#options.report, onState),
    };
    this.#hosted.set(target, environment);
    return environment;
  }

  /** A session of an environment whose other sessions share processes: no process of one session waits for it. */
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

  /** A process of one session, once there is a place for its start. */
  async #start(target: EnvironmentTarget, options: ConnectOptions, kind: StartKind): Promise<McpEnvironmentClient> {
    const isProcess = target.kind === 'module' || target.kind === 'command';
    const place = isProcess ? await this.#starts.enter(kind, options.signal) : undefined;
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

interface Share {
  readonly sessions: number;
  /** The client that found out. */
  readonly client?: McpEnvironmentClient;
}

interface KnownShare {
  readonly codeHash: string | null;
  /** Undefined while the first session finds out. */
  readonly sessions: number | undefined;
  readonly learning: Promise<unknown>;
}

function launch(
  target: ModuleTarget,
  report: EnvironmentPoolOptions['report'],
  onState: Parameters<HostedEnvironment<OpenSession>['launch']>[0],
): Host<OpenSession> {
  const host = createHost(target, { onLog: ({ message }) => report?.(message), onGauges: onState });
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
