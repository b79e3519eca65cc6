import { existsSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import type { ProcessRequest, SandboxLimits } from '../engine.ts';

/** User and group of the programs, as they see it. */
export const INSIDE_ID = '1000';
export const INSIDE_USER = 'agent';
const USERS = [INSIDE_USER, INSIDE_ID, `${INSIDE_ID}:${INSIDE_ID}`, `${INSIDE_USER}:${INSIDE_USER}`];
const MAX_OPEN_FILES = 4_096;
/**
 * Signals of a terminal, which reach the first process too. It ignores them, because it has to outlive the program, whose
 * end it tells. The last step sets them back.
 */
const SIGNALS = 'HUP,INT,QUIT,TSTP,TTIN,TTOU';
const NAMESPACES = { mount: 'mnt', pid: 'pid', net: 'net', ipc: 'ipc', uts: 'uts' } as const;

/** The processes that hold the namespaces of a sandbox. */
export interface Held {
  /** Outside; it has the user namespace that owns all others. */
  readonly outer: number;
  /** The first process inside. */
  readonly inner: number;
  readonly hasNetwork: boolean;
}

/** Enters the namespaces with all rights over them, and none on the machine. Only the harness runs programs so. */
export function asOwner({ outer, inner, hasNetwork }: Held, kinds = Object.keys(NAMESPACES)): readonly string[] {
  const entered = Object.entries(NAMESPACES).filter(([kind]) => kinds.includes(kind) && (kind !== 'net' || hasNetwork));
  return [
    ...[pathOf('nsenter'), `--user=/proc/${outer}/ns/user`],
    ...entered.map(([kind, file]) => `--${kind}=/proc/${inner}/ns/${file}`),
    ...['--preserve-credentials', '--'],
  ];
}

/**
 * The command that runs a program in the sandbox, without rights: it enters the namespaces, then the user namespace of
 * the first process, from which no way leads to another. The variables come last, so that none has an effect on a step
 * that has rights.
 */
export function toEntering(held: Held, request: ProcessRequest, limits: SandboxLimits): readonly string[] {
  const { command, cwd, env, pty } = request;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  // A name with an equals sign would be taken for a variable.
  const program = command[0]?.includes('=') === true ? ['/bin/sh', '-c', 'exec "$@"', 'sh', ...command] : command;
  return [
    ...(pty === undefined ? [] : [pathOf('env'), '-i', `--ignore-signal=${SIGNALS}`]),
    ...asOwner(held),
    ...[pathOf('nsenter'), '--target=1', '--user', '--preserve-credentials', '--'],
    ...[pathOf('setpriv'), '--no-new-privs', '--'],
    ...[pathOf('prlimit'), ...toProcessLimits(limits), '--'],
    ...[
      pathOf('env'),
      '-i',
      ...(pty === undefined ? [] : [`--default-signal=${SIGNALS}`]),
      `--chdir=${cwd}`,
      '--',
      ...variables,
      ...program,
    ],
  ];
}

/** @throws RangeError for any user but the one of the sandbox. */
export function checkUser(user: string | undefined): void {
  if (user === undefined || USERS.includes(user)) return;
  const message = `The sandbox has no user ${JSON.stringify(user)}`;
  throw new RangeError(`${message}: with bubblewrap its only user is ${INSIDE_USER} (${INSIDE_ID}). Docker has more`);
}

/** Limits of each process. The address space stays free, because Node.js reserves many times what it uses. */
function toProcessLimits({ memoryBytes, processes, diskBytes }: SandboxLimits): readonly string[] {
  return [
    ...['--core=0', `--nofile=${MAX_OPEN_FILES}`],
    ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes}`]),
    ...(diskBytes === undefined ? [] : [`--fsize=${diskBytes}`]),
    // One more for the first process.
    ...(processes === undefined || !countsPerSandbox() ? [] : [`--nproc=${processes + 1}`]),
  ];
}

/** Since Linux 5.14 the processes of a user are counted in each user namespace, before that on the whole machine. */
export function countsPerSandbox(): boolean {
  const [, major = 0, minor = 0] = /^(\d+)\.(\d+)/.exec(release())?.map(Number) ?? [];
  return major > 5 || (major === 5 && minor >= 14);
}

/** Absolute path of a program of the system, which is the same inside. */
export function pathOf(program: string): string {
  const found = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'].find((folder) => existsSync(join(folder, program)));
  return join(found ?? '/usr/bin', program);
}
