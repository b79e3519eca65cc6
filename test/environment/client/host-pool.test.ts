import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type HostedEnvironment,
  HostPool,
  type HostPoolOptions,
  type HostState,
} from '../../../src/environment/client/pool/host-pool.ts';
import type { Host, HostPlace } from '../../../src/environment/client/pool/pooled-host.ts';
import { StartLimiter } from '../../../src/environment/process/start-limiter.ts';
import type { StartKind } from '../../../src/environment/process/waiting-line.ts';

const KEY = { name: 'counter' };
type Place = HostPlace<string>;

/** An environment whose hosts start when the test says so, or at once. */
class FakeEnvironment implements HostedEnvironment<string> {
  readonly hosts: FakeHost[] = [];
  readonly memoryBytes = 1_000;
  readonly capacity: number;
  readonly isHeld: boolean;

  constructor({ capacity, isHeld = false }: { readonly capacity: number; readonly isHeld?: boolean }) {
    this.capacity = capacity;
    this.isHeld = isHeld;
  }

  launch(onState: (state: HostState) => void): Host<string> {
    const host = new FakeHost(this.hosts.length, this.capacity, onState);
    this.hosts.push(host);
    if (!this.isHeld) host.listen();
    return host;
  }
}

class FakeHost implements Host<string> {
  readonly told: string[] = [];
  readonly ended: Promise<void>;
  readonly onState: (state: HostState) => void;
  readonly #name: number;
  readonly #info: { readonly sessionsPerProcess: number };
  readonly #listening: Promise<void>;
  listen: () => void = () => {};
  fail: (error: Error) => void = () => {};
  die: () => void = () => {};

  constructor(name: number, sessionsPerProcess: number, onState: (state: HostState) => void) {
    this.#name = name;
    this.#info = { sessionsPerProcess };
    this.onState = onState;
    this.#listening = new Promise((resolve, reject) => {
      this.listen = resolve;
      this.fail = reject;
    });
    this.ended = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  async start() {
    await this.#listening;
    return this.#info;
  }

  session(): string {
    return `host ${this.#name}`;
  }

  drain(): void {
    this.told.push('drain');
  }

  async close(): Promise<void> {
    this.told.push('close');
    this.die();
  }
}

function poolOf(options: Partial<HostPoolOptions> = {}) {
  const pool = new HostPool<object, string>({
    starts: new StartLimiter({ limit: 4 }),
    hosts: 2,
    maxHosts: 3,
    ...options,
  });
  onTestFinished(() => pool.close());
  const enter = (
    environment: FakeEnvironment,
    more: { key?: object; codeHash?: string; kind?: StartKind; signal?: AbortSignal } = {},
  ): Promise<Place> => {
    const { key = KEY, codeHash = 'a', kind = 'chat', signal } = more;
    const { capacity } = environment;
    return pool.enter(key, { environment, capacity, codeHash, kind, signal });
  };
  return { pool, enter };
}

describe('the pool of hosts', () => {
  it('gives as many sessions as a host holds places in it, and starts another one for the next', async () => {
    const environment = new FakeEnvironment({ capacity: 2 });
    const { pool, enter } = poolOf();
    const places = [await enter(environment), await enter(environment), await enter(environment)];
    expect(places.map(({ session }) => session)).toEqual(['host 0', 'host 0', 'host 1']);
    expect(pool.figures(KEY)).toEqual({
      hosts: [
        { host: 1, state: 'open', sessions: 2, lagMs: 0 },
        { host: 2, state: 'open', sessions: 1, lagMs: 0 },
      ],
      waiting: 0,
    });
  });

  it('lets sessions beyond all hosts wait in order of arrival, and serves them when others leave', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { pool, enter } = poolOf();
    const [first] = [await enter(environment), await enter(environment)];
    expect(pool.hasRoom(KEY)).toBe(false);
    const served: string[] = [];
    const waiting = ['a', 'b'].map(async (name) => {
      const place = await enter(environment);
      served.push(name);
      return place;
    });
    await settled();
    expect(pool.figures(KEY).waiting).toBe(2);
    first.leave();
    first.leave(); // Counts once.
    const [second] = await Promise.all([waiting[0], settled()]);
    expect(served).toEqual(['a']);
    second?.leave();
    await waiting[1];
    expect(served).toEqual(['a', 'b']);
    expect(environment.hosts).toHaveLength(2);
  });

  it('starts one host for many sessions that arrive at once, once it knows how many one holds', async () => {
    const environment = new FakeEnvironment({ capacity: 100, isHeld: true });
    const { enter } = poolOf({ hosts: 1 });
    const places = Array.from({ length: 100 }, () => enter(environment));
    await settled();
    environment.hosts[0]?.listen();
    await Promise.all(places);
    expect(environment.hosts).toHaveLength(1);
  });

  it('starts another host when the loop of the first one lags', async () => {
    const environment = new FakeEnvironment({ capacity: 100 });
    const { enter } = poolOf();
    await enter(environment);
    environment.hosts[0]?.onState({ lagMs: 500, residentBytes: 0 });
    await enter(environment);
    await settled();
    expect((await enter(environment)).session).toBe('host 1');
  });

  it('drains the hosts of old code: new sessions get new code, and the old host ends with its last session', async () => {
    const environment = new FakeEnvironment({ capacity: 10 });
    const { pool, enter } = poolOf();
    const old = await enter(environment, { codeHash: 'a' });
    const current = await enter(environment, { codeHash: 'b' });
    expect([old.session, current.session]).toEqual(['host 0', 'host 1']);
    expect(environment.hosts[0]?.told).toEqual(['drain']);
    old.leave();
    await settled();
    expect(environment.hosts[0]?.told).toEqual(['drain', 'close']);
    expect(pool.figures(KEY).hosts.map(({ host }) => host)).toEqual([2]);
  });

  it('has room for new sessions while old ones keep all its hosts draining', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { pool, enter } = poolOf({ hosts: 1 });
    await enter(environment, { codeHash: 'a' });
    expect(pool.hasRoom(KEY)).toBe(false);
    const current = await enter(environment, { codeHash: 'b' });
    expect(pool.hasRoom(KEY)).toBe(false);
    environment.hosts[1]?.onState({ lagMs: 0, residentBytes: 751 });
    expect(pool.hasRoom(KEY)).toBe(true);
    expect([current.session, (await enter(environment, { codeHash: 'b' })).session]).toEqual(['host 1', 'host 2']);
  });

  it('replaces a host that has served its share, and one that holds three quarters of its memory', async () => {
    const environment = new FakeEnvironment({ capacity: 10 });
    const { enter } = poolOf({ maxServed: 2 });
    const places = [await enter(environment), await enter(environment), await enter(environment)];
    expect(places.map(({ session }) => session)).toEqual(['host 0', 'host 0', 'host 1']);
    environment.hosts[1]?.onState({ lagMs: 0, residentBytes: 751 });
    expect(environment.hosts.map(({ told }) => told)).toEqual([['drain'], ['drain']]);
  });

  it('ends a draining host after its limit, with the sessions that it still has', async () => {
    const environment = new FakeEnvironment({ capacity: 10 });
    const { enter } = poolOf({ drainMs: 10 });
    await enter(environment, { codeHash: 'a' });
    await enter(environment, { codeHash: 'b' });
    await environment.hosts[0]?.ended;
    expect(environment.hosts[0]?.told).toEqual(['drain', 'close']);
  });

  it('ends a host that nobody needs', async () => {
    const environment = new FakeEnvironment({ capacity: 10 });
    const { pool, enter } = poolOf({ idleMs: 10 });
    (await enter(environment)).leave();
    await environment.hosts[0]?.ended;
    await settled();
    expect(pool.figures(KEY).hosts).toEqual([]);
  });

  it('starts a new host in place of one that died', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { enter } = poolOf({ hosts: 1 });
    await enter(environment);
    const next = enter(environment);
    await settled();
    environment.hosts[0]?.die();
    expect((await next).session).toBe('host 1');
  });

  it('ends an idle host of another environment where all together have as many as they may', async () => {
    const environments = [new FakeEnvironment({ capacity: 1 }), new FakeEnvironment({ capacity: 1 })];
    const [one, two] = environments as [FakeEnvironment, FakeEnvironment];
    const { enter } = poolOf({ hosts: 1, maxHosts: 1 });
    const first = await enter(one, { key: one });
    const second = enter(two, { key: two });
    await settled();
    expect(two.hosts).toHaveLength(0);
    first.leave();
    expect((await second).session).toBe('host 0');
    expect(one.hosts[0]?.told).toEqual(['close']);
  });

  it('tells the session that a host was started for why that failed, and tries again for the others', async () => {
    const environment = new FakeEnvironment({ capacity: 1, isHeld: true });
    const { enter } = poolOf({ hosts: 1 });
    const first = expect(enter(environment)).rejects.toThrow('broken');
    const second = enter(environment);
    await settled();
    environment.hosts[0]?.fail(new Error('broken'));
    await first;
    await settled();
    environment.hosts[1]?.listen();
    expect((await second).session).toBe('host 1');
  });

  it('tries again for a session that came when the host was being started', async () => {
    const environment = new FakeEnvironment({ capacity: 10, isHeld: true });
    const { enter } = poolOf({ hosts: 1 });
    const first = expect(enter(environment)).rejects.toThrow('broken');
    await settled();
    const late = enter(environment);
    environment.hosts[0]?.fail(new Error('broken'));
    await first;
    await settled();
    environment.hosts[1]?.listen();
    expect((await late).session).toBe('host 1');
  });

  it('tells everybody who waits once three starts in a row have failed', async () => {
    const environment = new FakeEnvironment({ capacity: 1, isHeld: true });
    const { pool, enter } = poolOf({ hosts: 1 });
    const waiting = Array.from({ length: 50 }, () => expect(enter(environment)).rejects.toThrow('broken'));
    for (const host of [0, 1, 2]) {
      await settled();
      environment.hosts[host]?.fail(new Error('broken'));
    }
    await Promise.all(waiting);
    expect(environment.hosts).toHaveLength(3);
    expect(pool.figures(KEY).waiting).toBe(0);
  });

  it('says nothing of a failure of old code to sessions of new code', async () => {
    const environment = new FakeEnvironment({ capacity: 10, isHeld: true });
    const { enter } = poolOf({ hosts: 1 });
    const old = enter(environment, { codeHash: 'a' });
    await settled();
    const current = enter(environment, { codeHash: 'b' });
    environment.hosts[0]?.fail(new Error('broken'));
    await settled();
    environment.hosts[1]?.listen();
    expect((await Promise.all([old, current])).map(({ session }) => session)).toEqual(['host 1', 'host 1']);
  });

  it('puts no session into a host that hardly turns, or that says nothing, and does again when it recovers', async () => {
    let now = 0;
    const environment = new FakeEnvironment({ capacity: 10 });
    const { pool, enter } = poolOf({ hosts: 1, now: () => now });
    await enter(environment);
    const [host] = environment.hosts;
    host?.onState({ lagMs: 9_000, residentBytes: 0 });
    expect(pool.hasRoom(KEY)).toBe(false);
    const waiting = enter(environment);
    await settled();
    expect(pool.figures(KEY).waiting).toBe(1);
    host?.onState({ lagMs: 5, residentBytes: 0 });
    expect((await waiting).session).toBe('host 0');
    now += 10_000;
    const late = enter(environment);
    await settled();
    expect(pool.figures(KEY).waiting).toBe(1);
    host?.onState({ lagMs: 5, residentBytes: 0 });
    expect((await late).session).toBe('host 0');
  });

  it('refuses a chat session that has waited too long, and never a run', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { enter } = poolOf({ hosts: 1, starts: new StartLimiter({ waitMs: 20 }) });
    const first = await enter(environment);
    const run = enter(environment, { kind: 'run' });
    await expect(enter(environment)).rejects.toMatchObject({ code: 'capacity_exceeded' });
    first.leave();
    expect((await run).session).toBe('host 0');
  });

  it('refuses nobody whose host is being started, however long that takes', async () => {
    const environment = new FakeEnvironment({ capacity: 2, isHeld: true });
    const { enter } = poolOf({ hosts: 1, starts: new StartLimiter({ waitMs: 10 }) });
    const [first, second] = [enter(environment), enter(environment)];
    // Its limit is over long before the host listens.
    await expect(enter(environment)).rejects.toMatchObject({ code: 'capacity_exceeded' });
    environment.hosts[0]?.listen();
    expect((await Promise.all([first, second])).map(({ session }) => session)).toEqual(['host 0', 'host 0']);
  });

  it('lets a client that goes away leave its place in the line', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { pool, enter } = poolOf({ hosts: 1 });
    await enter(environment);
    const client = new AbortController();
    const gone = expect(enter(environment, { signal: client.signal })).rejects.toThrow('gone');
    client.abort(new Error('gone'));
    await gone;
    expect(pool.figures(KEY).waiting).toBe(0);
  });

  it('ends every host and refuses who waits when it is closed', async () => {
    const environment = new FakeEnvironment({ capacity: 1 });
    const { pool, enter } = poolOf({ hosts: 1 });
    await enter(environment);
    const waiting = expect(enter(environment)).rejects.toThrow('The pool was closed');
    await pool.close();
    await waiting;
    expect(environment.hosts[0]?.told).toEqual(['close']);
    await expect(enter(environment)).rejects.toThrow('The pool was closed');
  });
});

/** After every promise that can settle by itself has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
