import { homedir, release } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SessionDirectory } from '../session-directory.ts';
import { INSIDE, toBubblewrapArguments } from './bubblewrap.ts';
import { type ProcessLimits, type ProcessResult, runProcess } from './run-process.ts';
import { unprivilegedUser } from './unprivileged-user.ts';

/** `none` runs commands as the user who runs the environment. */
export type SandboxKind = 'bubblewrap' | 'none';

export interface SandboxSettings {
  readonly kind: SandboxKind;
  /** The bubblewrap program: a path, or a name that is looked up in PATH. */
  readonly program: string;
}

/** Where a command finds things, which depends on the sandbox. */
export interface Places {
  readonly node: string;
  readonly driver: string;
}

export interface SandboxRequest {
  readonly directory: SessionDirectory;
  /** The work directory cannot be written then, where there is a sandbox. */
  readonly isReadOnly: boolean;
  readonly command: (places: Places) => readonly string[];
  readonly input?: string;
  /** True: the command may write a result to descriptor 3. */
  readonly hasResult?: boolean;
  readonly limits: ProcessLimits;
  readonly signal?: AbortSignal | undefined;
}

export interface Sandbox {
  readonly kind: SandboxKind;
  /** @throws Error when the command cannot be started; the reason of the signal when that is aborted. */
  run(request: SandboxRequest): Promise<ProcessResult>;
}

export const EXPOSED_WITHOUT_SANDBOX =
  'every file that this user can read or write (the trace store and the hidden tests in the source of this environment among them), the processes of this user, and the network';

const MAX_FILE_BYTES = 32 * 1024 * 1024;
const MAX_OPEN_FILES = 256;
const MAX_THREADS = 512;
/** A program may keep two cores busy until its time is over. */
const CPU_SECONDS_PER_SECOND = 2;
const MEBIBYTE = 1024 * 1024;
const TRIAL_LIMITS: ProcessLimits = {
  timeMs: 10_000,
  memoryBytes: 512 * MEBIBYTE,
  processes: 16,
  outputBytes: MEBIBYTE,
  keptOutputBytes: 4_096,
};

const environmentFolder = fileURLToPath(new URL('..', import.meta.url));

/** Sandboxes that were seen to work, by program. */
const tried = new Map<string, Promise<Sandbox>>();

/**
 * A sandbox that was seen to work: bubblewrap is tried by running Node in it, once in a process, since a container may
 * forbid it.
 *
 * @throws Error that says why it does not work, what can be done, and what doing without it exposes. The next call tries again.
 */
export function openSandbox({ kind, program }: SandboxSettings): Promise<Sandbox> {
  if (kind === 'none') return Promise.resolve({ kind, run: (request) => runProcess(unsandboxed(request)) });
  const sandbox = tried.get(program) ?? tryOut(program);
  tried.set(program, sandbox);
  sandbox.catch(() => tried.delete(program));
  return sandbox;
}

async function tryOut(program: string): Promise<Sandbox> {
  const sandbox: Sandbox = { kind: 'bubblewrap', run: (request) => runProcess(sandboxed(program, request)) };
  const directory = await SessionDirectory.create();
  const command = ({ node }: Places) => [node, '--version'];
  try {
    const { output, ending, exitCode } = await sandbox.run({
      directory,
      isReadOnly: true,
      command,
      limits: TRIAL_LIMITS,
    });
    if (exitCode === 0 && output.trim() === process.version) return sandbox;
    throw new Error(output.trim() || `it ended with ${exitCode} (${ending})`);
  } catch (cause) {
    throw new Error(refusal(program, cause instanceof Error ? cause.message : String(cause)));
  } finally {
    await directory.remove();
  }
}

function refusal(program: string, problem: string): string {
  return [
    `The environment workspace runs what an agent writes in a sandbox, and that does not work here: ${problem.startsWith(program) ? '' : `${program}: `}${problem}.`,
    'Install bubblewrap 0.8 or newer (Debian: apt-get install bubblewrap) where user namespaces are allowed, which many containers forbid;',
    `or set WORKSPACE_SANDBOX=none to run without a sandbox, which exposes ${EXPOSED_WITHOUT_SANDBOX}.`,
  ].join(' ');
}

function sandboxed(program: string, request: SandboxRequest) {
  const { directory, isReadOnly, limits } = request;
  const command = ['prlimit', ...resourceLimits(limits), ...threadLimit(), '--', ...request.command(INSIDE)];
  const path = `${dirname(INSIDE.node)}:/usr/local/bin:/usr/bin:/bin`;
  const variables = { ...commonVariables, PATH: path, HOME: '/tmp' };
  const { work, etc, driver } = directory;
  const hidden = [environmentFolder, process.cwd(), homedir()];
  const args = toBubblewrapArguments({ hidden, driver, work, etc, isReadOnly, variables, command });
  // Nothing of this process's variables: what bubblewrap itself was started with can be read inside.
  return {
    ...toProcess(request),
    isContainer: true,
    user: unprivilegedUser(),
    program,
    args,
    cwd: '/',
    variables: { PATH: process.env.PATH ?? '' },
  };
}

function unsandboxed(request: SandboxRequest) {
  const { directory, limits } = request;
  const command = request.command({ node: process.execPath, driver: directory.driver });
  const path = [dirname(process.execPath), process.env.PATH ?? '/usr/bin:/bin'].join(delimiter);
  const variables = { ...commonVariables, PATH: path, HOME: directory.home };
  const isLimited = process.platform === 'linux';
  const [program = '', ...args] = isLimited ? ['prlimit', ...resourceLimits(limits), '--', ...command] : command;
  return { ...toProcess(request), isContainer: false, user: undefined, program, args, cwd: directory.work, variables };
}

function toProcess({ input = '', hasResult = false, limits, signal }: SandboxRequest) {
  // bubblewrap is two processes itself.
  return { input, hasResult, signal, limits: { ...limits, processes: limits.processes + 2 } };
}

const commonVariables = { LANG: 'C.UTF-8', TERM: 'dumb', NO_COLOR: '1' } as const;

/** Of each process, for `prlimit`. The address space stays free, of which Node reserves many times what it uses. */
function resourceLimits({ timeMs, memoryBytes }: ProcessLimits): string[] {
  return [
    `--data=${memoryBytes}`,
    `--cpu=${Math.ceil(timeMs / 1_000) * CPU_SECONDS_PER_SECOND}`,
    `--fsize=${MAX_FILE_BYTES}`,
    `--nofile=${MAX_OPEN_FILES}`,
    '--core=0',
  ];
}

/** Before Linux 5.14 a user's threads were counted on the whole machine: the limit would count those of the host. */
function threadLimit(): string[] {
  const [, major = 0, minor = 0] = /^(\d+)\.(\d+)/.exec(release())?.map(Number) ?? [];
  return major > 5 || (major === 5 && minor >= 14) ? [`--nproc=${MAX_THREADS}`] : [];
}
