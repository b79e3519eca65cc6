import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../contract/errors.ts';
import { OWN_MARK } from './run-mark.ts';

/**
 * Names a cgroup v2 directory in which this process may make others, such as that of a systemd unit with `Delegate=`.
 */
const VARIABLE = 'PROCTOR_CGROUP';
/** Maximum number of processes and threads. A browser needs far fewer, and a machine can handle far more. */
const MAX_TASKS = 4_096;
/** Number of attempts to remove a directory after its processes were killed, and milliseconds between them. */
const REMOVE = { tries: 20, everyMs: 100 } as const;

/** A cgroup of one run. It contains all processes of its environment, which cannot leave it. */
export interface RunCgroup {
  /** Adds a process. Call this before the process starts another one. */
  add(pid: number): void;
  /** Kills all its processes at once. */
  kill(): void;
  /** True if the kernel killed a process in it for its memory. */
  readonly wasOutOfMemory: boolean;
  /** Removes it. Call this after all its processes have ended. */
  remove(): void;
}

/** The directory that contains the cgroups of runs. Undefined if it is not configured. */
export function cgroupRoot(variables: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  return variables[VARIABLE]?.trim() || undefined;
}

/** Prefix of the names of this process's cgroups. The watchdog uses it to find them. */
export const CGROUP_PREFIX: string = `proctor-${OWN_MARK}-`;

let made = 0;

/**
 * Makes a cgroup for a run if a directory is configured. Memory and the number of processes are limited if the
 * directory has these controllers.
 *
 * @throws Error that names the variable if the directory cannot be used, because a configured limit must not be
 *   missing.
 */
export function createRunCgroup(memoryBytes: number | undefined): RunCgroup | undefined {
  const root = cgroupRoot();
  if (root === undefined) return undefined;
  made += 1;
  const path = join(root, `${CGROUP_PREFIX}${made}`);
  try {
    passOnControllers(root);
    mkdirSync(path);
    if (!existsSync(join(path, 'cgroup.procs'))) throw new Error('it is not a directory of cgroup v2');
    if (memoryBytes !== undefined) {
      limit(path, 'memory.max', memoryBytes);
      limit(path, 'memory.swap.max', 0);
      limit(path, 'memory.oom.group', 1);
    }
    limit(path, 'pids.max', MAX_TASKS);
  } catch (cause) {
    removeDirectory(path);
    const problem = `${VARIABLE} is ${JSON.stringify(root)}, where no cgroup can be made: ${messageOf(cause)}`;
    throw new Error(`${problem}. Name a directory of cgroup v2 that is delegated to this user, or leave it out`, {
      cause,
    });
  }
  return {
    add: (pid) => addTo(path, pid),
    kill: () => killAll(path),
    get wasOutOfMemory() {
      return /^oom_kill [1-9]/m.test(read(join(path, 'memory.events')));
    },
    remove: () => removeSoon(path, REMOVE.tries),
  };
}

/** Kills and removes the cgroups with a name for which `isOrphan` is true. Their processes may have lost the mark. */
export function endCgroupsOf(isOrphan: (mark: string) => boolean): void {
  const root = cgroupRoot();
  if (root === undefined) return;
  for (const name of listDirectories(root)) {
    if (!name.startsWith('proctor-') || !isOrphan(name)) continue;
    killAll(join(root, name));
    removeSoon(join(root, name), REMOVE.tries);
  }
}

function listDirectories(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
  } catch {
    return [];
  }
}

/** Enables controllers for the directories below, which cannot be limited otherwise. */
function passOnControllers(root: string): void {
  const available = read(join(root, 'cgroup.controllers')).split(/\s+/);
  const wanted = ['memory', 'pids'].filter((controller) => available.includes(controller));
  if (wanted.length === 0) return;
  writeFileSync(join(root, 'cgroup.subtree_control'), wanted.map((controller) => `+${controller}`).join(' '));
}

/** Adds a process to a cgroup. A process that has ended needs no limit. */
function addTo(path: string, pid: number): void {
  try {
    writeFileSync(join(path, 'cgroup.procs'), String(pid));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function limit(path: string, file: string, value: number): void {
  const target = join(path, file);
  if (existsSync(target)) writeFileSync(target, String(value));
}

/** Kills all processes. `cgroup.kill` exists since Linux 5.14. */
function killAll(path: string): void {
  try {
    if (existsSync(join(path, 'cgroup.kill'))) {
      writeFileSync(join(path, 'cgroup.kill'), '1');
      return;
    }
    const pids = read(join(path, 'cgroup.procs')).split('\n').filter(Boolean);
    for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
  } catch {
    // The cgroup or one of its processes has ended meanwhile.
  }
}

/** Tries again, because a killed process takes a moment to disappear. Nested cgroups are removed too. */
function removeSoon(path: string, tries: number): void {
  if (removeDirectory(path) || tries === 0) return;
  setTimeout(() => removeSoon(path, tries - 1), REMOVE.everyMs).unref();
}

/** @returns false if it still exists. */
function removeDirectory(path: string): boolean {
  try {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.isDirectory()) removeDirectory(join(path, entry.name));
    }
    rmdirSync(path);
    return true;
  } catch {
    return !existsSync(path);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
