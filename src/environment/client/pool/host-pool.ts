import { availableParallelism } from 'node:os';
import { withDeadline } from '../../../support/runtime/deadline.ts';
import type { StartLimiter, StartPermit } from '../../process/start-limiter.ts';
import { FairQueue, type StartKind } from '../../process/waiting-line.ts';
import { type Host, type HostPlace, PooledHost } from './pooled-host.ts';

/** The state of a host as its process reports it. */
export interface HostState {
  /** Lag of the event loop in milliseconds: the 99th percentile of the last 10 seconds. */
  readonly lagMs: number;
  /** Memory of the process in bytes. */
  readonly residentBytes: number;
}

export interface HostPoolOptions {
  /** Limits the starts of processes. */
  readonly starts: StartLimiter;
  /** Maximum number of hosts of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Maximum number of hosts of all environments together. Default: twice the number of cores. */
  readonly maxHosts?: number | undefined;
  /** Milliseconds without a session after which a host is ended. Default 60,000. */
  readonly idleMs?: number | undefined;
  /** Number of sessions after which a host is replaced. Default 10,000. */
  readonly maxServed?: number | undefined;
  /** Milliseconds after which a draining host is ended even if it still has sessions. Default 70 minutes. */
  readonly drainMs?: number | undefined;
  /** The current time in milliseconds. Only tests set it. */
  readonly now?: (() => number) | undefined;
}

export interface HostedEnvironment<Session> {
  /** Makes a host with the current code. The host is not started yet. */
  launch(onState: (state: HostState) => void): Host<Session>;
  /** Memory limit of a host in bytes. A host is replaced at three quarters of it. Undefined means no limit. */
  readonly memoryBytes?: number | undefined;
}

export interface HostRequest<Session> {
  readonly environment: HostedEnvironment<Session>;
  /** Number of sessions that one host holds. */
  readonly capacity: number;
  /** Hash of the current code. Hosts with other code take no new session. */
  readonly codeHash: string | null;
  readonly kind: StartKind;
  /** Time of the request by `performance.now()`. Default: now. */
  readonly since?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The state of a host for gauges. */
export interface HostFigures {
  /** Number of the host, unique in the pool. */
  readonly host: number;
  readonly state: 'open' | 'draining';
  readonly sessions: number;
  readonly lagMs: number;
}

/** Milliseconds that a host may take to load its code. */
const START_LIMIT_MS = 60_000;
const IDLE_MS = 60_000;
const MAX_SERVED = 10_000;
const DRAIN_MS = 70 * 60_000;
/** Number of failed starts in a row after which all waiting sessions get the error. */
const MAX_FAILURES = 3;
/** Lag of the event loop, in milliseconds, above which another host is started. */
const BUSY_LAG_MS = 100;
/** Share of the memory limit at which a host is replaced. */
const FULL_MEMORY = 0.75;

/** The hosts of one environment, and the sessions that wait for a place in one of them. */
interface HostGroup<Session> {
  readonly hosts: Set<PooledHost<Session>>;
  readonly line: FairQueue<HostPlace<Session>>;
  environment: HostedEnvironment<Session>;
  codeHash: string | null;
  /** Number of sessions that a host holds. */
  capacity: number;
  starting: number;
  /** Number of failed starts in a row with this code. */
  failures: number;
}

/**
 * Gives sessions places in hosts. It starts a host when all are full or busy, and ends hosts that are no longer needed.
 */
export class HostPool<Key extends object, Session> {
  /** Maximum number of hosts of one environment. */
  readonly perEnvironment: number;
  readonly #options: HostPoolOptions;
  readonly #maxHosts: number;
  readonly #groups = new Map<Key, HostGroup<Session>>();
  readonly #starts = new Set<Promise<void>>();
  readonly #ends = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #lastId = 0;

  constructor(options: HostPoolOptions) {
    this.#options = options;
    this.perEnvironment = options.hosts ?? availableParallelism();
    this.#maxHosts = Math.max(options.maxHosts ?? 2 * availableParallelism(), this.perEnvironment);
  }

  /**
   * Waits for a place for a new session.
   *
   * @throws ApiError `capacity_exceeded` if a chat session waited too long. @throws the reason of the signal.
   * @throws the error of the host that was started for this session, if the start failed.
   */
  async enter(key: Key, request: HostRequest<Session>): Promise<HostPlace<Session>> {
    this.#closing.signal.throwIfAborted();
    const { kind, signal, since } = request;
    const group = this.#groupOf(key, request);
    const { starts } = this.#options;
    // The time limit applies until a host that will have a place for this session begins to start.
    const toRefusal = (ahead: number) =>
      ahead < group.starting * group.capacity ? undefined : starts.refusal(group.line.size);
    const limits = kind === 'chat' ? { limitMs: starts.remainingMs(since), toRefusal } : {};
    const place = group.line.wait({ kind, signal, ...limits });
    this.#serve(group);
    return await place;
  }

  /** True if a new session would get a place before another session ends. */
  hasRoom(key: Key): boolean {
    const group = this.#groups.get(key);
    if (group === undefined) return true;
    if (openHosts(group).length + group.starting < this.perEnvironment) return true;
    const free = [...group.hosts].reduce((sum, host) => sum + host.freePlaces, group.starting * group.capacity);
    return free > group.line.size;
  }

  figures(key: Key): { readonly hosts: readonly HostFigures[]; readonly waiting: number } {
    const group = this.#groups.get(key);
    const hosts = [...(group?.hosts ?? [])].flatMap(({ options, state, sessions, lagMs }) =>
      state === 'ended' ? [] : [{ host: options.id, state, sessions, lagMs }],
    );
    return { hosts, waiting: group?.line.size ?? 0 };
  }

  /** Ends every host, also those that are starting. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool was closed'));
    for (const { hosts, line } of this.#groups.values()) {
      line.refuse(this.#closing.signal.reason);
      for (const host of hosts) this.#end(host);
    }
    await Promise.all([...this.#starts, ...this.#ends]);
  }

  /** Finds the group of an environment and updates it. Hosts with other code take no new session from now on. */
  #groupOf(key: Key, { environment, capacity, codeHash }: HostRequest<Session>): HostGroup<Session> {
    const known = this.#groups.get(key);
    if (known === undefined) {
      const line = new FairQueue<HostPlace<Session>>();
      const group = {
        hosts: new Set<PooledHost<Session>>(),
        line,
        environment,
        codeHash,
        capacity,
        starting: 0,
        failures: 0,
      };
      this.#groups.set(key, group);
      return group;
    }
    if (known.codeHash !== codeHash) known.failures = 0;
    Object.assign(known, { environment, capacity, codeHash });
    for (const host of known.hosts) if (host.options.codeHash !== codeHash) host.drain();
    return known;
  }

  #serve(group: HostGroup<Session>): void {
    if (this.#closing.signal.aborted) return;
    while (group.line.next !== undefined) {
      const host = leastLoaded(group.hosts);
      if (host === undefined) break;
      group.line.serve(host.place());
    }
    const isBusy = [...group.hosts].every((host) => host.freePlaces === 0 || host.lagMs > BUSY_LAG_MS);
    const isWaitedFor = group.line.size > group.starting * group.capacity;
    const isWanted = isWaitedFor || (isBusy && group.starting === 0 && group.hosts.size > 0);
    if (isWanted && this.#hasRoomForHost(group)) this.#startHost(group);
  }

  /**
   * True if another host may be started. Draining hosts do not count. If needed, an idle host of another environment is
   * ended.
   */
  #hasRoomForHost(group: HostGroup<Session>): boolean {
    if (openHosts(group).length + group.starting >= this.perEnvironment) return false;
    const groups = [...this.#groups.values()];
    const count = groups.reduce((sum, each) => sum + openHosts(each).length + each.starting, 0);
    if (count < this.#maxHosts) return true;
    const idle = groups
      .flatMap((each) => (each === group ? [] : openHosts(each)))
      .find(({ sessions }) => sessions === 0);
    if (idle === undefined) return false;
    this.#end(idle);
    return true;
  }

  #startHost(group: HostGroup<Session>): void {
    group.starting += 1;
    const start = this.#start(group).finally(() => this.#starts.delete(start));
    this.#starts.add(start);
  }

  async #start(group: HostGroup<Session>): Promise<void> {
    const { environment, codeHash } = group;
    const { starts } = this.#options;
    let place: StartPermit | undefined;
    let started: PooledHost<Session> | undefined;
    let arrivals = 0;
    try {
      place = await starts.enter(group.line.next ?? 'spare', this.#closing.signal);
      ({ arrivals } = group.line);
      const host = environment.launch((state) => started && this.#hear(group, started, state));
      const { sessionsPerProcess: capacity } = await startHost(host, this.#closing.signal);
      place.ready();
      group.failures = 0;
      const pooled = this.#add(group, host, { codeHash, capacity });
      started = pooled;
      void pooled.ended.then(() => {
        place?.end();
        group.hosts.delete(pooled);
        this.#serveAll(group);
      });
      // The code may have changed during the start.
      if (codeHash !== group.codeHash) pooled.drain();
    } catch (error) {
      place?.end();
      // If the code has changed meanwhile, the failure of the old code is ignored.
      if (codeHash === group.codeHash) refuse(group, error, arrivals);
    }
    group.starting -= 1;
    this.#serve(group);
  }

  #add(
    group: HostGroup<Session>,
    host: Host<Session>,
    { codeHash, capacity }: { readonly codeHash: string | null; readonly capacity: number },
  ): PooledHost<Session> {
    const {
      idleMs = IDLE_MS,
      maxServed = MAX_SERVED,
      drainMs = DRAIN_MS,
      now = () => performance.now(),
    } = this.#options;
    const onLeft = () => this.#serveAll(group);
    const options = { id: ++this.#lastId, codeHash, capacity, idleMs, maxServed, drainMs, onLeft, now };
    const pooled = new PooledHost(host, options);
    group.hosts.add(pooled);
    return pooled;
  }

  /** When a session or a host ends, a host of another environment may fit too. */
  #serveAll(first: HostGroup<Session>): void {
    this.#serve(first);
    for (const group of this.#groups.values()) if (group !== first && group.line.size > 0) this.#serve(group);
  }

  #hear(group: HostGroup<Session>, host: PooledHost<Session>, { lagMs, residentBytes }: HostState): void {
    const wasStuck = host.isStuck;
    host.report(lagMs);
    const { memoryBytes } = group.environment;
    if (memoryBytes !== undefined && residentBytes > FULL_MEMORY * memoryBytes) host.drain();
    if (wasStuck && !host.isStuck) this.#serveAll(group);
  }

  #end(host: PooledHost<Session>): void {
    const end = host.end().finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }
}

/** @throws Error if it cannot be started or takes too long to load its code; the reason of the signal. */
export async function startHost(
  host: Host<unknown>,
  signal: AbortSignal | undefined,
): Promise<{ readonly sessionsPerProcess: number }> {
  return await withDeadline((ended) => host.start(ended), {
    signal,
    ms: START_LIMIT_MS,
    toError: (limit) => new Error(`The environment took more than ${limit} to load its code`),
  });
}

/**
 * Passes the error to the sessions that waited when the start began, as many as one host holds. The others wait for the
 * next start. After several failures in a row, all get the error.
 */
function refuse<Session>(group: HostGroup<Session>, error: unknown, arrivals: number): void {
  group.failures += 1;
  const count = group.failures < MAX_FAILURES ? group.capacity : Number.POSITIVE_INFINITY;
  group.line.refuse(error, { count, arrivals });
}

function openHosts<Session>({ hosts }: HostGroup<Session>): PooledHost<Session>[] {
  return [...hosts].filter(({ state }) => state === 'open');
}

/** The host with the fewest sessions among those with a free place. */
function leastLoaded<Session>(hosts: Iterable<PooledHost<Session>>): PooledHost<Session> | undefined {
  let least: PooledHost<Session> | undefined;
  for (const host of hosts) {
    if (host.freePlaces > 0 && (least === undefined || host.sessions < least.sessions)) least = host;
  }
  return least;
}
