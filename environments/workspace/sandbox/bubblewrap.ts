import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** Where things are inside the sandbox. */
export const INSIDE = {
  workspace: '/workspace',
  node: '/opt/node/bin/node',
  driver: '/opt/grading/drive.mjs',
} as const;

const TEMPORARY_BYTES = 64 * 1024 * 1024;
const SHARED_MEMORY_BYTES = 16 * 1024 * 1024;
const UNPRIVILEGED_ID = '1000';

/** Programs and their libraries. Not all of /usr: projects live in /usr/src and the like. */
const PROGRAM_FOLDERS = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/libexec',
  '/usr/include',
  '/usr/share',
  '/usr/local/bin',
  '/usr/local/lib',
  '/usr/local/include',
];
/** Links into /usr on most systems, folders on some. */
const ROOT_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** What programs look up and what holds nothing of the host's: no users, keys or names of machines. */
const ETC_PATHS = ['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime'];

export interface BubblewrapRequest {
  /** Folders of the host that must not be seen even where they lie among its programs. */
  readonly hidden: readonly string[];
  /** The program that runs a hidden test's input. */
  readonly driver: string;
  readonly work: string;
  /** A folder with the sandbox's own `passwd`, `group` and `hosts`. */
  readonly etc: string;
  readonly isReadOnly: boolean;
  readonly variables: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/**
 * The arguments that make bubblewrap (0.8 or newer) run a command in namespaces of its own, without capabilities and
 * without a way to further namespaces. Of the host it sees programs, read-only; the work directory alone can be written,
 * and two file systems in memory whose size is limited.
 */
export function toBubblewrapArguments(request: BubblewrapRequest): string[] {
  const { work, etc, isReadOnly, driver, hidden, variables, command } = request;
  return [
    ...['--unshare-user', '--disable-userns', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts'],
    ...['--unshare-cgroup', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--uid', UNPRIVILEGED_ID, '--gid', UNPRIVILEGED_ID, '--hostname', 'workspace'],
    '--clearenv',
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    ...programMounts(hidden),
    ...nodeMounts(),
    ...['--ro-bind', driver, INSIDE.driver],
    ...ETC_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['passwd', 'group', 'hosts'].flatMap((name) => ['--ro-bind', join(etc, name), `/etc/${name}`]),
    ...['--proc', '/proc', '--remount-ro', '/proc', '--dev', '/dev'],
    ...['--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--size', String(TEMPORARY_BYTES), '--perms', '1777', '--tmpfs', '/tmp'],
    ...[isReadOnly ? '--ro-bind' : '--bind', work, INSIDE.workspace, '--chdir', INSIDE.workspace],
    // The root is a file system in memory too, without a limit of its own.
    ...['--remount-ro', '/', '--'],
    ...command,
  ];
}

function programMounts(hidden: readonly string[]): string[] {
  const mounts = PROGRAM_FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) => [
    '--ro-bind',
    folder,
    folder,
  ]);
  for (const folder of ROOT_FOLDERS) {
    const stats = lstatSync(folder, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) mounts.push('--symlink', readlinkSync(folder), folder);
    else if (stats?.isDirectory()) mounts.push('--ro-bind', folder, folder);
  }
  for (const folder of new Set(hidden.filter((each) => existsSync(each)).map((each) => realpathSync(each)))) {
    if (isAmongPrograms(folder)) mounts.push('--tmpfs', folder, '--remount-ro', folder);
  }
  return mounts;
}

/** Node is at one place inside wherever it is outside, and npm beside it where it is not among the programs. */
function nodeMounts(): string[] {
  const program = realpathSync(process.execPath);
  const mounts = ['--ro-bind', program, INSIDE.node];
  const npm = join(dirname(dirname(program)), 'lib', 'node_modules', 'npm');
  if (isAmongPrograms(program) || !existsSync(npm)) return mounts;
  return [
    ...mounts,
    ...['--ro-bind', npm, '/opt/node/lib/node_modules/npm'],
    ...['--symlink', '../lib/node_modules/npm/bin/npm-cli.js', '/opt/node/bin/npm'],
  ];
}

function isAmongPrograms(path: string): boolean {
  return [...PROGRAM_FOLDERS, ...ROOT_FOLDERS].some((folder) => path.startsWith(`${folder}${sep}`));
}
