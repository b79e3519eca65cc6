import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../contract/errors.ts';
import { OWN_MARK } from './run-mark.ts';

/** Names a cgroup v2 directory that this process may make others in, such as that of a systemd unit with `Delegate=`. */
const VARIABLE = 'PROCTOR_CGROUP';
/** Threads count too. Our choice: far above what a browser takes, and far below what stops a machine. */
const MAX_TASKS = 4_096;
/** How often, and how long after the last process was killed, a directory is tried to be removed. Milliseconds. */
const REMOVE = { tries: 20, everyMs: 100 } as const;

/** A cgroup of one run: everything that its environment starts is in it, and can neither leave nor outlive it. */
export interface RunCgroup {
  /** To be called before the process has started another one. */
  add(pid: number): void;
  /** Kills all that is in it, at once. */
  kill(): void;
  /** True when the kernel killed a process in it because of its memory. */
  readonly wasOutOfMemory: boolean;
  /** Once everything in it is dead. */
  remove(): void;
}

/** The directory that runs have theirs in; undefined where none is named. */
export function cgroupRoot(variables: Readonly<Record<string, string | undefined>> = process.env): string | undefined {
  return variables[VARIABLE]?.trim() || undefined;
}

/** Prefix of the names of this process's cgroups. The watchdog ends cgroups by it. */
export const CGROUP_PREFIX: string = `proctor-${OWN_MARK}-`;

let made = 0;

/**
 * A cgroup for a run, where a directory for them is named; undefined elsewhere. Its memory and its tasks are limited where
 * the directory has these controllers.
 *
 * @throws Error that names the variable where the directory cannot be used: a limit that is asked for must not be missing.
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

/** Kills and removes the cgroups that belong to marks for which `isOrphan` holds: their processes may have other variables. */
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

/** Only what a directory passes on can be limited below it. */
function passOnControllers(root: string): void {
  const available = read(join(root, 'cgroup.controllers')).split(/\s+/);
  const wanted = ['memory', 'pids'].filter((controller) => available.includes(controller));
  if (wanted.length === 0) return;
  writeFileSync(join(root, 'cgroup.subtree_control'), wanted.map((controller) => `+${controller}`).join(' '));
}

/** One that is gone already has nothing to be limited. */
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

/** `cgroup.kill` came with Linux 5.14. */
function killAll(path: string): void {
  try {
    if (existsSync(join(path, 'cgroup.kill'))) {
      writeFileSync(join(path, 'cgroup.kill'), '1');
      return;
    }
    const pids = read(join(path, 'cgroup.procs')).split('\n').filter(Boolean);
    for (const pid of pids) process.kill(Number(pid), 'SIGKILL');
  } catch {
    // It is gone with its last process, or a process with its number.
  }
}

/** A process that was killed takes a moment to be gone. Whoever nests cgroups in it leaves them: they hold nothing. */
function removeSoon(path: string, tries: number): void {
  if (removeDirectory(path) || tries === 0) return;
  setTimeout(() => removeSoon(path, tries - 1), REMOVE.everyMs).unref();
}

/** @returns false where it is there still. */
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
