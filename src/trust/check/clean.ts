import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectOver } from '../../client/connect.ts';
import type { EnvironmentTarget } from '../../client/environment-client.ts';
import { createHost, openHosted } from '../../client/hosted-link.ts';
import { messageOf } from '../../contract/errors.ts';
import type { HostProcess } from '../../process/host-process.ts';
import { findMarked, readProcesses } from '../../process/process-table.ts';
import type { Bench } from './bench.ts';
import type { Found, Subject } from './finding.ts';
import type { OpenSession } from './play.ts';
import { preloading } from './shifted-clock.ts';

type ModuleTarget = Extract<EnvironmentTarget, { kind: 'module' }>;
type Counts = Readonly<Record<string, number>>;

/** Sessions whose leavings are counted, and as many before them, which load what is loaded once. */
const SESSIONS = 3;
/** Milliseconds that an environment has to clean up after a session. */
const SETTLE_MS = 3_000;
const LOOK_EVERY_MS = 50;
/** Caches of the loader, of Node.js and of V8. */
const OF_THE_LOADER = /^(tsx-|node-compile-cache|node-jest|v8-)/;

/** Words for what Node.js counts. Its own kinds that come and go are left out. */
const KINDS: Readonly<Record<string, string>> = {
  Timeout: 'timer',
  TCPServerWrap: 'listener on a port',
  TCPSocketWrap: 'connection',
  PipeWrap: 'pipe',
  ProcessWrap: 'child process',
  UDPWrap: 'UDP socket',
  FSEventWrap: 'watched file',
  StatWatcher: 'watched file',
  MessagePort: 'worker thread',
  'process listener': 'listener of the process',
};

/** Nothing of a session is left after its close: in a process of its own, in one that holds others, and beyond both. */
export async function clean(
  subject: Subject,
  bench: Bench,
  target: EnvironmentTarget,
  { sessionsPerProcess, areFilesTold }: { readonly sessionsPerProcess: number; readonly areFilesTold: boolean },
): Promise<readonly Found[]> {
  if (target.kind === 'memory') return [];
  if (target.kind !== 'module' || process.platform !== 'linux') {
    const why =
      target.kind === 'module'
        ? 'this system does not tell'
        : `it is a ${target.kind === 'url' ? 'server elsewhere' : 'command'}`;
    return [note(`Whether sessions leave anything behind was not tried: ${why}.`)];
  }
  const watched = new WatchedHost(bench, target);
  try {
    await watched.start();
  } catch (error) {
    bench.signal.throwIfAborted();
    await watched.close();
    return [note(`Whether sessions leave anything behind was not tried: ${messageOf(error)}`)];
  }
  const level = sessionsPerProcess > 1 ? 'error' : 'note';
  const end = level === 'note' ? ' It ends with the process, which each session has to itself.' : '';
  const found: Found[] = [];
  try {
    if (!(await playSome(subject, bench, watched.open))) return [];
    const before = await watched.settled(undefined);
    if (!(await playSome(subject, bench, watched.open))) return [];
    const after = await watched.settled(before);
    for (const [kind, count] of Object.entries(after.counts)) {
      const more = count - (before.counts[kind] ?? 0);
      const words = KINDS[kind];
      // A child process is told of below, by what it is.
      if (words === undefined || kind === 'ProcessWrap' || more < SESSIONS) continue;
      found.push({
        finding: 'clean',
        level,
        task: subject.task,
        message: `${SESSIONS} sessions leave ${more} × ${words} behind.${end}`,
      });
    }
    const children = after.children.filter((pid) => !before.children.includes(pid));
    if (children.length > 0) found.push(watched.describeChildren(children, subject, { level, end }));
  } finally {
    await watched.close();
  }
  // State that it keeps in files was told of already.
  const files = areFilesTold ? [] : watched.files();
  if (files.length > 0) {
    const listed = `${files.slice(0, 3).join(', ')}${files.length > 3 ? ` and ${files.length - 3} more` : ''}`;
    const message = `It leaves temporary files behind that outlive its process: ${listed}.`;
    found.push({ finding: 'clean', level: 'error', task: subject.task, message });
  }
  return found;
}

/** @returns false where the time was over before. */
async function playSome({ task }: Subject, bench: Bench, open: OpenSession): Promise<boolean> {
  for (let session = 0; session < SESSIONS; session += 1) {
    if (bench.budget.isOver('clean', task)) return false;
    await bench.play(task, { model: session === 0 ? 'proctor/noop' : 'proctor/oracle', open });
  }
  return true;
}

interface State {
  readonly counts: Counts;
  readonly children: readonly number[];
}

/** A host that tells what keeps it busy. */
class WatchedHost {
  readonly #bench: Bench;
  readonly #target: ModuleTarget;
  readonly #host: HostProcess;
  readonly #folder: string;
  readonly #reports: string;
  #asked = 0;

  constructor(bench: Bench, target: ModuleTarget) {
    this.#bench = bench;
    this.#folder = bench.places.newFolder();
    this.#reports = bench.places.newFolder();
    mkdirSync(this.#reports, { recursive: true });
    const variables = preloading('trust/check/preload-probe.js', {
      CHECK_PROBE_FOLDER: this.#reports,
      TMPDIR: this.#folder,
    });
    const { limits, env } = target;
    this.#target = { ...target, env: { ...env, ...variables }, limits: { ...limits, sessionsPerProcess: 100 } };
    this.#host = createHost(this.#target, { onLog: () => {} });
  }

  async start(): Promise<void> {
    await this.#host.start(this.#bench.signal);
  }

  readonly open: OpenSession = async (options) => {
    const link = openHosted(
      this.#target,
      (hosted) => this.#host.connect(hosted),
      () => {},
      options,
    );
    return await connectOver(link, options);
  };

  /** The state after sessions, once nothing of it falls any more that had grown since `before`. */
  async settled(before: State | undefined): Promise<State> {
    const limit = Date.now() + (before === undefined ? SETTLE_MS / 6 : SETTLE_MS);
    let state = await this.#look();
    while (Date.now() < limit && (before === undefined || hasGrown(before, state))) {
      await delay(LOOK_EVERY_MS, undefined, { signal: this.#bench.signal });
      state = await this.#look();
    }
    return state;
  }

  describeChildren(
    pids: readonly number[],
    { task }: Subject,
    { level, end }: { readonly level: Found['level']; readonly end: string },
  ): Found {
    const { pid } = this.#host;
    const rows = readProcesses().filter((row) => pids.includes(row.pid));
    const detached = rows.filter(({ group }) => group !== pid);
    const what = `${pids.length} process${pids.length === 1 ? '' : 'es'} that its sessions started`;
    if (detached.length === 0) return { finding: 'clean', level, task, message: `It leaves ${what} behind.${end}` };
    return {
      finding: 'clean',
      level: 'error',
      task,
      message: `It leaves ${what} behind, in a process group that outlives its own.`,
    };
  }

  /** Temporary files that are left. */
  files(): readonly string[] {
    return readdirSync(this.#folder).filter((name) => !OF_THE_LOADER.test(name));
  }

  async close(): Promise<void> {
    await this.#host.close();
  }

  async #look(): Promise<State> {
    const { pid } = this.#host;
    if (pid === undefined) return { counts: {}, children: [] };
    this.#asked += 1;
    const children = findMarked(basename(this.#reports)).filter((each) => each !== pid);
    try {
      process.kill(pid, 'SIGUSR2');
    } catch {
      // It has ended: sessions that are played in it fail, and say so.
      return { counts: {}, children };
    }
    return { counts: await this.#report(`report-${this.#asked}.json`), children };
  }

  /** A process that is busy answers later, and one that has ended never does. */
  async #report(name: string): Promise<Counts> {
    const limit = Date.now() + SETTLE_MS;
    while (Date.now() < limit) {
      try {
        return JSON.parse(readFileSync(join(this.#reports, name), 'utf8')) as Counts;
      } catch {
        await delay(LOOK_EVERY_MS / 5, undefined, { signal: this.#bench.signal });
      }
    }
    return {};
  }
}

function hasGrown(before: State, after: State): boolean {
  const counts = Object.keys(KINDS).some((kind) => (after.counts[kind] ?? 0) > (before.counts[kind] ?? 0));
  return counts || after.children.some((pid) => !before.children.includes(pid));
}

function note(message: string): Found {
  return { finding: 'clean', level: 'note', message };
}
