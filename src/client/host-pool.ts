import { availableParallelism } from 'node:os';
import type { StartLine, StartPlace } from '../process/start-line.ts';
import { type StartKind, WaitingLine } from '../process/waiting-line.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { type Host, type HostPlace, PooledHost } from './pooled-host.ts';

/** The state of a host that its process tells. */
export interface HostState {
  /** p99 of the last 10 s, in milliseconds. */
  readonly lagMs: number;
  /** Bytes that the process holds. */
  readonly residentBytes: number;
}

export interface HostPoolOptions {
  /** Admits the starts of processes. */
  readonly starts: StartLine;
  /** Hosts of one environment. Default: the number of cores. */
  readonly hosts?: number | undefined;
  /** Hosts of all environments together. Default: twice the number of cores. */
  readonly maxHosts?: number | undefined;
  /** Milliseconds after which a host without sessions is ended. Default 60,000. */
  readonly idleMs?: number | undefined;
  /** Sessions after which a host is replaced. Default 10,000. */
  readonly maxServed?: number | undefined;
  /** Milliseconds after which a draining host is ended with the sessions that it still has. Default 70 minutes. */
  readonly drainMs?: number | undefined;
  /** Milliseconds, for tests. */
  readonly now?: (() => number) | undefined;
}

export interface HostedEnvironment<Session> {
  /** Makes a host of its current code, which is not started yet. */
  launch(onState: (state: HostState) => void): Host<Session>;
  /** Bytes that a host may hold; it is replaced at three quarters. Undefined: no limit. */
  readonly memoryBytes?: number | undefined;
}

export interface HostRequest<Session> {
  readonly environment: HostedEnvironment<Session>;
  /** Sessions that one of its hosts holds. */
  readonly capacity: number;
  /** Hash of the current code: hosts of other code take no new session. */
  readonly codeHash: string | null;
  readonly kind: StartKind;
  readonly signal?: AbortSignal | undefined;
}

/** For gauges. */
export interface HostFigures {
  /** Unique among the hosts of the pool. */
  readonly host: number;
  readonly state: 'open' | 'draining';
  readonly sessions: number;
  readonly lagMs: number;
}

/** For its code to load. */
const START_LIMIT_MS = 60_000;
const IDLE_MS = 60_000;
const MAX_SERVED = 10_000;
const DRAIN_MS = 70 * 60_000;
/** Starts in a row after which everybody is told of the failure. */
const MAX_FAILURES = 3;
/** Above it another host is started for the next session, in milliseconds. */
const BUSY_LAG_MS = 100;
/** Share of its memory at which a host is replaced. */
const FULL_MEMORY = 0.75;

/** The hosts of one environment, and the sessions that wait for a place in one. */
interface HostGroup<Session> {
  readonly hosts: Set<PooledHost<Session>>;
  readonly line: WaitingLine<HostPlace<Session>>;
  environment: HostedEnvironment<Session>;
  codeHash: string | null;
  /** Sessions of a host. */
  capacity: number;
  starting: number;
  /** Starts that failed in a row, of this code. */
  failures: number;
}

/** Gives sessions their places in hosts: starts hosts when all are full or busy, and ends them when nobody needs them. */
export class HostPool<Key extends object, Session> {
  /** Hosts of one environment. */
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
   * A place for a new session.
   *
   * @throws ApiError `capacity_exceeded` for a chat session that has waited too long. @throws the reason of the signal.
   * @throws the error of a host that could not be started, where it was for this session.
   */
  async enter(key: Key, request: HostRequest<Session>): Promise<HostPlace<Session>> {
    this.#closing.signal.throwIfAborted();
    const { kind, signal } = request;
    const group = this.#groupOf(key, request);
    const { starts } = this.#options;
    // The limit runs until the start begins that is for it.
    const toRefusal = (ahead: number) =>
      ahead < group.starting * group.capacity ? undefined : starts.refusal(group.line.size);
    const limits = kind === 'chat' ? { limitMs: starts.waitMs, toRefusal } : {};
    const place = group.line.wait({ kind, signal, ...limits });
    this.#serve(group);
    return await place;
  }

  /** Whether a session would get a place without waiting for another to end. */
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

  /** Ends every host, also those that are being started. Never rejects. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The pool was closed'));
    for (const { hosts, line } of this.#groups.values()) {
      line.refuse(this.#closing.signal.reason);
      for (const host of hosts) this.#end(host);
    }
    await Promise.all([...this.#starts, ...this.#ends]);
  }

  /** Its hosts of other code take no new session from now on. */
  #groupOf(key: Key, { environment, capacity, codeHash }: HostRequest<Session>): HostGroup<Session> {
    const known = this.#groups.get(key);
    if (known === undefined) {
      const line = new WaitingLine<HostPlace<Session>>();
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

  /** Hosts that drain do not count. An idle host of another environment gives way. */
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
    let place: StartPlace | undefined;
    let started: PooledHost<Session> | undefined;
    let arrivals = 0;
    try {
      place = await starts.enter(group.line.next ?? 'spare', this.#closing.signal);
      ({ arrivals } = group.line);
      const host = environment.launch((state) => started && this.#hear(group, started, state));
      const { sessionsPerProcess: capacity } = await withDeadline((signal) => host.start(signal), {
        signal: this.#closing.signal,
        ms: START_LIMIT_MS,
        toError: (limit) => new Error(`The environment took more than ${limit} to load its code`),
      });
      place.ready();
      group.failures = 0;
      const pooled = this.#add(group, host, { codeHash, capacity });
      started = pooled;
      void pooled.ended.then(() => {
        place?.end();
        group.hosts.delete(pooled);
        this.#serveAll(group);
      });
      // The code may have changed while it started.
      if (codeHash !== group.codeHash) pooled.drain();
    } catch (error) {
      place?.end();
      // A failure of code that has changed meanwhile says nothing to anybody.
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

  /** One that ended may have made room for a host of another environment. */
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

/**
 * Tells those that the host was started for, who had come by then. The others get another try, unless the code cannot be
 * started at all.
 */
function refuse<Session>(group: HostGroup<Session>, error: unknown, arrivals: number): void {
  group.failures += 1;
  const count = group.failures < MAX_FAILURES ? group.capacity : Number.POSITIVE_INFINITY;
  group.line.refuse(error, { count, arrivals });
}

function openHosts<Session>({ hosts }: HostGroup<Session>): PooledHost<Session>[] {
  return [...hosts].filter(({ state }) => state === 'open');
}

/** The one with the fewest sessions, among those with a free place that are not stuck. */
function leastLoaded<Session>(hosts: Iterable<PooledHost<Session>>): PooledHost<Session> | undefined {
  let least: PooledHost<Session> | undefined;
  for (const host of hosts) {
    if (host.freePlaces > 0 && (least === undefined || host.sessions < least.sessions)) least = host;
  }
  return least;
}
