import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../contract/errors.ts';
import { contains, isAmongPrograms, PROGRAM_FOLDERS, programPaths, ROOT_FOLDERS } from './program-paths.ts';

const PROGRAM = 'bwrap';
const TRY_MS = 10_000;
/** User and group number in the sandbox; both have no rights. */
export const SANDBOX_ID = '1000';
/** File descriptor for bubblewrap's status. The program in the sandbox does not get it. */
export const SANDBOX_STATUS_FD = 3;
const SHARED_MEMORY_BYTES = 256 * 1_024 * 1_024;
const TEMPORARY_BYTES = 1_024 * 1_024 * 1_024;

/** Files that programs look up, for host names and trusted TLS certificates. They contain no users and no keys. */
const ETC_PATHS = [
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime'],
  ...['/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/pki'],
];

let works: Promise<string | undefined> | undefined;

/** Reason why bubblewrap cannot make a sandbox here, in words; undefined if it can. Tested once. Never rejects. */
export async function sandboxProblem(): Promise<string | undefined> {
  works ??= trySandbox();
  return await works;
}

async function trySandbox(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'sandboxes are made on Linux alone';
  try {
    const args = ['--unshare-user', '--disable-userns', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc'];
    await promisify(execFile)(PROGRAM, [...args, '--dev', '/dev', 'true'], { timeout: TRY_MS, killSignal: 'SIGKILL' });
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'bubblewrap is not installed';
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n').at(-1) : '';
    return `bubblewrap makes none here (${said || messageOf(error)})`;
  }
}

export interface SandboxRequest {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The command before templates were filled in. Files that it names may be read; inserted values open nothing. */
  readonly template: readonly string[];
  /** Writable folder of this start: home, working directory, and `etc` with `passwd` and `group`. */
  readonly folder: string;
  readonly workingDirectory: string;
  /** Files and folders that may be read, beside those that the command line names. */
  readonly readable: readonly string[];
  /** Folders of Proctor, such as that of its database, that stay closed even if the command line names them. */
  readonly hidden: readonly string[];
}

/**
 * Builds the command line that runs an agent in its own namespaces, where all its processes end with it. The agent sees
 * programs, the files that its command line names, and the network. It does not see the user's home, other processes or
 * Proctor's files. Variables are passed on.
 */
export function inSandbox({ command, template, folder, workingDirectory, readable, hidden }: SandboxRequest): string[] {
  const closed = [homedir(), ...hidden].filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const own = toMounts([...programPaths(template, closed), ...readable].filter((path) => existsSync(path)));
  return [
    PROGRAM,
    ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'agent'],
    ...['--json-status-fd', String(SANDBOX_STATUS_FD)],
    ...['--uid', SANDBOX_ID, '--gid', SANDBOX_ID],
    ...programMounts(closed),
    ...ETC_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...nameServers(),
    ...['passwd', 'group'].flatMap((name) => ['--ro-bind', join(folder, 'etc', name), `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm'],
    ...['--size', String(TEMPORARY_BYTES), '--perms', '1777', '--tmpfs', '/tmp'],
    ...own.opened.flatMap((path) => ['--ro-bind', path, path]),
    ...own.links.flatMap(([path, target]) => ['--symlink', target, path]),
    ...coverWithin(own.opened, closed),
    ...['--bind', folder, folder, '--remount-ro', '/', '--chdir', workingDirectory, '--'],
    ...command,
  ];
}

/** True if the sandbox started its program: only then does bubblewrap write an exit code. */
export function saysStarted(status: string): boolean {
  return /^\{\s*"exit-code"/m.test(status);
}

function programMounts(closed: readonly string[]): string[] {
  const mounts = PROGRAM_FOLDERS.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]);
  for (const path of ROOT_FOLDERS) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) mounts.push('--symlink', readlinkSync(path), path);
    else if (stats?.isDirectory()) mounts.push('--ro-bind', path, path);
  }
  for (const path of new Set(closed)) {
    if (isAmongPrograms(path) && statSync(path).isDirectory()) mounts.push('--tmpfs', path);
  }
  return mounts;
}

interface Mounts {
  /** Files and folders without links in their paths. None lies inside another. */
  readonly opened: readonly string[];
  /** Path and target of each link outside the opened folders. */
  readonly links: readonly (readonly [string, string])[];
}

/** Keeps links as links, because a program may look for its files beside a link's target. */
function toMounts(paths: readonly string[]): Mounts {
  const links = new Map<string, string>();
  const places = [...new Set(paths.map((path) => followLinks(path, links)))];
  const opened = places.filter((path) => !places.some((other) => other !== path && contains(other, path)));
  const isThere = (path: string) =>
    ROOT_FOLDERS.includes(path) || isAmongPrograms(path) || opened.some((each) => contains(each, path));
  return { opened, links: [...links].filter(([path]) => !isThere(path)) };
}

/** Resolves a path and collects the links on the way. */
function followLinks(path: string, links: Map<string, string>): string {
  let at: string = sep;
  const rest = path.split(sep);
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    const next = join(at, part);
    if (!lstatSync(next).isSymbolicLink()) {
      at = next;
      continue;
    }
    const target = readlinkSync(next);
    links.set(next, target);
    if (isAbsolute(target)) at = sep;
    rest.unshift(...target.split(sep));
  }
  return at;
}

/** Hides closed folders inside the opened ones, such as an environment that is a package beside the program. */
function coverWithin(opened: readonly string[], closed: readonly string[]): string[] {
  const inside = closed.filter((path) => opened.some((each) => path !== each && contains(each, path)));
  return [...new Set(inside)].flatMap((path) => ['--tmpfs', path]);
}

/** Mounts the list of name servers. On many systems it is a link into /run, which the sandbox does not have. */
function nameServers(): string[] {
  return existsSync('/etc/resolv.conf') ? ['--ro-bind', realpathSync('/etc/resolv.conf'), '/etc/resolv.conf'] : [];
}
