import { mkdirSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { messageOf } from '../../../contract/errors.ts';
import { connectOver } from '../../../environment/client/connect.ts';
import type { EnvironmentTarget } from '../../../environment/client/environment-client.ts';
import { createHost, openHosted } from '../../../environment/client/pool/hosted-link.ts';
import type { HostProcess } from '../../../environment/process/host-process.ts';
import { findMarked, readProcesses } from '../../../environment/process/process-table.ts';
import { sleep } from '../../../support/runtime/backoff.ts';
import { countText } from '../../../support/text/figures.ts';
import type { Finding, Subject } from '../finding.ts';
import type { OpenSession } from '../player/play.ts';
import type { SessionPlayer } from '../player/session-player.ts';
import { NO_CHILD } from './key-watch.ts';
import { openSockets } from './open-sockets.ts';
import { Probe } from './probe.ts';

type ModuleTarget = Extract<EnvironmentTarget, { kind: 'module' }>;
type Counts = Readonly<Record<string, number>>;

/** Number of counted sessions. As many are played before, to load everything that is loaded once. */
const SESSIONS = 3;
/** Milliseconds that an environment has for cleaning up after a session. */
const SETTLE_MS = 3_000;
const LOOK_EVERY_MS = 50;
/** Reasons why a process cannot be inspected. */
const NO_PROCESS: Readonly<Record<Exclude<EnvironmentTarget['kind'], 'module'>, string>> = {
  command: 'it is a command, and a check looks into processes of modules alone',
  ...NO_CHILD,
};
/** Caches of the module loader, Node.js and V8. */
const OF_THE_LOADER = /^(tsx-|node-compile-cache|node-jest|v8-)/;

/** Words for the kinds of resources that Node.js counts. Its internal, short-lived kinds are left out. */
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

/** Checks that a closed session leaves nothing behind: in its own process, in a shared process, and outside of both. */
export async function clean(
  subject: Subject,
  bench: SessionPlayer,
  target: EnvironmentTarget,
  { sessionsPerProcess, areFilesTold }: { readonly sessionsPerProcess: number; readonly areFilesTold: boolean },
): Promise<readonly Finding[]> {
  const { coverage } = bench;
  if (target.kind !== 'module' || process.platform !== 'linux') {
    const why =
      target.kind === 'module' ? 'this system does not tell what a session leaves behind' : NO_PROCESS[target.kind];
    coverage.notTried('clean', why);
    return [];
  }
  const watched = new WatchedHost(bench, target);
  try {
    await watched.start();
  } catch (error) {
    bench.signal.throwIfAborted();
    await watched.close();
    coverage.notTried('clean', withoutStop(messageOf(error)));
    return [];
  }
  const level = sessionsPerProcess > 1 ? 'error' : 'note';
  const end = level === 'note' ? ' It ends with the process, which each session has to itself.' : '';
  const found: Finding[] = [];
  try {
    if (!(await playSome(subject, bench, watched.open))) return [];
    const before = await watched.settled(undefined);
    if (!(await playSome(subject, bench, watched.open))) return [];
    const after = await watched.settled(before);
    coverage.tried('clean');
    for (const [kind, count] of Object.entries(after.counts)) {
      const more = count - (before.counts[kind] ?? 0);
      const words = KINDS[kind];
      // Child processes are reported below, by name.
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
  // State in files was reported already.
  const files = areFilesTold ? [] : watched.files();
  if (files.length > 0) {
    const listed = `${files.slice(0, 3).join(', ')}${files.length > 3 ? ` and ${files.length - 3} more` : ''}`;
    const message = `It leaves temporary files behind that outlive its process: ${listed}.`;
    found.push({ finding: 'clean', level: 'error', task: subject.task, message });
  }
  return found;
}

/** @returns false if the time was over before. */
async function playSome({ task }: Subject, bench: SessionPlayer, open: OpenSession): Promise<boolean> {
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

/** A host process that reports its open resources. */
class WatchedHost {
  readonly #bench: SessionPlayer;
  readonly #target: ModuleTarget;
  readonly #host: HostProcess;
  readonly #folder: string;
  readonly #reports: string;
  readonly #probe: Probe;

  constructor(bench: SessionPlayer, target: ModuleTarget) {
    this.#bench = bench;
    this.#folder = bench.places.newFolder();
    this.#reports = bench.places.newFolder();
    mkdirSync(this.#reports, { recursive: true });
    const { limits, env } = target;
    this.#probe = new Probe(this.#reports, env);
    const variables = { ...env, ...this.#probe.variables, TMPDIR: this.#folder };
    this.#target = { ...target, env: variables, limits: { ...limits, sessionsPerProcess: 100 } };
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

  /** Waits until resources that have grown since `before` stop shrinking. @returns the state. */
  async settled(before: State | undefined): Promise<State> {
    const limit = Date.now() + (before === undefined ? SETTLE_MS / 6 : SETTLE_MS);
    let state = await this.#look();
    while (Date.now() < limit && (before === undefined || hasGrown(before, state))) {
      await sleep(LOOK_EVERY_MS, this.#bench.signal);
      state = await this.#look();
    }
    return state;
  }

  describeChildren(
    pids: readonly number[],
    { task }: Subject,
    { level, end }: { readonly level: Finding['level']; readonly end: string },
  ): Finding {
    const { pid } = this.#host;
    const rows = readProcesses().filter((row) => pids.includes(row.pid));
    const detached = rows.filter(({ group }) => group !== pid);
    const what = `${countText(pids.length, 'process', 'processes')} that its sessions started`;
    if (detached.length === 0) return { finding: 'clean', level, task, message: `It leaves ${what} behind.${end}` };
    return {
      finding: 'clean',
      level: 'error',
      task,
      message: `It leaves ${what} behind, in a process group that outlives its own.`,
    };
  }

  /** Temporary files that are left over. */
  files(): readonly string[] {
    return readdirSync(this.#folder).filter((name) => !OF_THE_LOADER.test(name));
  }

  async close(): Promise<void> {
    await this.#host.close();
  }

  async #look(): Promise<State> {
    const { pid } = this.#host;
    if (pid === undefined) return { counts: {}, children: [] };
    const children = findMarked(basename(this.#reports)).filter((each) => each !== pid);
    const report = await this.#probe.ask(pid, this.#bench.signal);
    const sockets = openSockets(pid);
    // An ended process shows neither. Its sessions fail and report that.
    if (sockets === undefined && report !== undefined) {
      const why = 'the descriptors of its process cannot be read, which tell of a socket that was unref()ed';
      this.#bench.coverage.notTried('clean', why);
    }
    return { counts: { ...report?.counts, ...sockets }, children };
  }
}

function hasGrown(before: State, after: State): boolean {
  const counts = Object.keys(KINDS).some((kind) => (after.counts[kind] ?? 0) > (before.counts[kind] ?? 0));
  return counts || after.children.some((pid) => !before.children.includes(pid));
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
