import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { SandboxSpec } from '../engine.ts';
import type { SessionFolder } from '../local/session-folder.ts';

/** Node.js is at one place inside, wherever it is on the machine. */
export const INSIDE_NODE = '/opt/node/bin/node';
export const INSIDE_HOME = '/home/agent';
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024;

/** Programs and their libraries. Not all of /usr, because /usr/src and others may hold projects. */
const PROGRAM_FOLDERS = [
  ...['/usr/bin', '/usr/sbin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/include', '/usr/share'],
  ...['/usr/local/bin', '/usr/local/lib', '/usr/local/include', '/usr/local/share'],
];
/** Links into /usr on most systems, folders on some. */
const ROOT_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64'];
/** Files that programs look up, for names and trusted certificates. They contain no users and no keys. */
const ETC_PATHS = [
  ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/localtime'],
  ...['/etc/nsswitch.conf', '/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/ca-certificates', '/etc/pki/tls/certs'],
  ...['/etc/pki/ca-trust', '/etc/services', '/etc/protocols', '/etc/mime.types'],
];
/** Folders that a workdir cannot be in, because they are not the sandbox's own. */
const CLOSED_FOLDERS = ['/proc', '/dev', '/sys', '/etc', '/opt/node', ...PROGRAM_FOLDERS, ...ROOT_FOLDERS];

/** True for a path of the machine's programs, which is the same inside. */
export function isProgramPath(path: string): boolean {
  return [...PROGRAM_FOLDERS, ...ROOT_FOLDERS].some((folder) => contains(folder, path));
}

/** @throws RangeError for a workdir that hides what programs need. */
export function checkWorkdir(workdir: string): void {
  const isClosed = CLOSED_FOLDERS.some((folder) => contains(folder, workdir) || contains(workdir, folder));
  if (!workdir.startsWith('/') || isClosed) {
    throw new RangeError(`The workdir ${JSON.stringify(workdir)} is a place of programs: take one such as /workspace`);
  }
}

/** Arguments of bubblewrap for the file system of a sandbox. `hidden` are folders that must not be seen. */
export function toMounts(spec: SandboxSpec, folder: SessionFolder, hidden: readonly string[]): string[] {
  const closed = [...new Set(hidden.filter((path) => existsSync(path)).map((path) => realpathSync(path)))];
  const etc = folder.part('etc');
  return [
    ...programMounts(closed),
    ...nodeMounts(),
    ...ETC_PATHS.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['passwd', 'group'].flatMap((name) => ['--ro-bind', join(etc, name), `/etc/${name}`]),
    ...(spec.network.kind === 'open' ? nameServers() : ['--ro-bind', join(etc, 'hosts'), '/etc/hosts']),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--size', String(SHARED_MEMORY_BYTES), '--perms', '1777', '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--bind', folder.part('tmp'), '/tmp', '--bind', folder.part('home'), INSIDE_HOME],
    ...spec.mounts.flatMap(({ source, target, readOnly }) => [readOnly ? '--ro-bind' : '--bind', source, target]),
    ...spec.mounts.flatMap(({ source, target }) => coverWithin(source, target, closed)),
    ...['--bind', folder.part('work'), spec.workdir],
    // The root is a file system in memory without a limit of its own.
    ...['--remount-ro', '/', '--chdir', '/'],
  ];
}

function programMounts(closed: readonly string[]): string[] {
  const mounts = PROGRAM_FOLDERS.filter((path) => existsSync(path)).flatMap((path) => ['--ro-bind', path, path]);
  for (const path of ROOT_FOLDERS) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink()) mounts.push('--symlink', readlinkSync(path), path);
    else if (stats?.isDirectory()) mounts.push('--ro-bind', path, path);
  }
  for (const path of closed) if (isProgramPath(path)) mounts.push('--tmpfs', path, '--remount-ro', path);
  return mounts;
}

/** Node.js, and npm beside it where it is not among the programs. */
function nodeMounts(): string[] {
  const program = realpathSync(process.execPath);
  const mounts = ['--ro-bind', program, INSIDE_NODE];
  const npm = join(dirname(dirname(program)), 'lib', 'node_modules', 'npm');
  if (isProgramPath(program) || !existsSync(npm)) return mounts;
  return [
    ...mounts,
    ...['--ro-bind', npm, '/opt/node/lib/node_modules/npm'],
    ...['--symlink', '../lib/node_modules/npm/bin/npm-cli.js', '/opt/node/bin/npm'],
  ];
}

/** Covers hidden folders inside a mount. */
function coverWithin(source: string, target: string, closed: readonly string[]): string[] {
  return closed
    .filter((path) => path !== source && contains(source, path))
    .flatMap((path) => {
      const inside = join(target, path.slice(source.length));
      return ['--tmpfs', inside, '--remount-ro', inside];
    });
}

/** Names of machines and of name servers. On many systems the list is a link into /run, which the sandbox does not have. */
function nameServers(): string[] {
  const files = ['/etc/hosts', '/etc/resolv.conf'].filter((path) => existsSync(path));
  return files.flatMap((path) => ['--ro-bind', realpathSync(path), path]);
}

function contains(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}
