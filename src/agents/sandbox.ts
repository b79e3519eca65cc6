import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../contract/errors.ts';

const PROGRAM = 'bwrap';
const TRY_MS = 10_000;
/** Of the user and the group inside, which have no rights. */
export const SANDBOX_ID = '1000';
const SHARED_MEMORY_BYTES = 256 * 1_024 * 1_024;
const TEMPORARY_BYTES = 1_024 * 1_024 * 1_024;

/** Programs and their libraries. Not all of /usr: projects live in /usr/src and the like. */
const PROGRAM_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/share'],
  ...['/usr/local/bin', '/usr/local/lib', '/usr/local/share'],
];
/** Links into /usr on most systems, folders on some. */
const ROOT_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** Files that programs look up: how names are found, whom to trust over TLS. No users, no keys. */
const ETC_PATHS = [
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime'],
  ...['/etc/hosts', '/etc/nsswitch.conf', '/etc/ssl', '/etc/ca-certificates', '/etc/pki'],
];

let works: Promise<string | undefined> | undefined;

/** Why bubblewrap makes no sandbox here, in words; undefined where it does. Found out once. Never rejects. */
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
  /** The same before anything was filled in: files that it names may be read. What is filled in opens nothing. */
  readonly template: readonly string[];
  /** Folder of this start, with its home, its working directory, and `etc` with `passwd` and `group`: all that can be written. */
  readonly folder: string;
  readonly workingDirectory: string;
  /** Read-only, beside the files that the command line itself names. */
  readonly readable: readonly string[];
  /** Folders of Proctor that nothing of the command line opens, such as that of its database. */
  readonly hidden: readonly string[];
}

/**
 * The command line that runs an agent in namespaces of its own, where it ends with all that it has started. Of the machine
 * it sees programs, the files that its own command line names, and the network; not the user's home, other processes, or
 * Proctor's files. Variables pass.
 */
export function inSandbox({ command, template, folder, workingDirectory, readable, hidden }: SandboxRequest): string[] {
  const closed = [homedir(), ...hidden].filter((path) => existsSync(path)).map((path) => realpathSync(path));
  const own = [...programPaths(template, closed), ...readable].filter((path) => existsSync(path));
  return [
    PROGRAM,
    ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'agent'],
    ...['--uid', SANDBOX_ID, '--gid', SANDBOX_ID],
    ...programMounts(closed),
    ...ETC_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...nameServers(),
    ...['passwd', 'group'].flatMap((name) => ['--ro-bind', join(folder, 'etc', name), `/etc/${name}`]),
    ...['--proc', '/proc', '--dev', '/dev', '--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm'],
    ...['--size', String(TEMPORARY_BYTES), '--perms', '1777', '--tmpfs', '/tmp'],
    ...[...new Set(own)].flatMap((path) => ['--ro-bind', path, path]),
    ...['--bind', folder, folder, '--remount-ro', '/', '--chdir', workingDirectory, '--'],
    ...command,
  ];
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

/** A link into /run on many systems, which is not there inside. */
function nameServers(): string[] {
  return existsSync('/etc/resolv.conf') ? ['--ro-bind', realpathSync('/etc/resolv.conf'), '/etc/resolv.conf'] : [];
}

/**
 * Paths that the words of a command line name, and what belongs to them: the package of a program of npm with the others
 * beside it, a virtual environment of Python, the folder of a script. Node.js is among them.
 */
function programPaths(template: readonly string[], closed: readonly string[]): readonly string[] {
  const named = template.filter((word) => word.startsWith('/') && isFile(word));
  return [process.execPath, ...named].flatMap((path) => [
    ...pathsOf(path, closed),
    ...pathsOf(realpathSync(path), closed),
  ]);
}

function pathsOf(path: string, closed: readonly string[]): readonly string[] {
  if (isAmongPrograms(path)) return [];
  const modules = path.indexOf(`${sep}node_modules${sep}`);
  if (modules !== -1) return [path.slice(0, modules + '/node_modules'.length)];
  const folder = dirname(path);
  const above = dirname(folder);
  if (basename(folder) === 'bin' && existsSync(join(above, 'pyvenv.cfg'))) return [above];
  // A file alone where its folder holds more than what belongs to it.
  const isShared = basename(folder) === 'bin' || folder === sep || closed.some((each) => contains(folder, each));
  return [isShared ? path : folder, ...packagesAbove(folder)];
}

/** What an import of a script finds: packages of its folder and of those above. */
function packagesAbove(folder: string): readonly string[] {
  const found: string[] = [];
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    for (const name of ['node_modules', 'package.json']) if (existsSync(join(at, name))) found.push(join(at, name));
  }
  return found;
}

function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function isAmongPrograms(path: string): boolean {
  return [...PROGRAM_FOLDERS, ...ROOT_FOLDERS].some((folder) => path.startsWith(`${folder}${sep}`));
}
