import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type {
  EngineSandbox,
  FileEntry,
  ProcessExit,
  ProcessRequest,
  SandboxProcess,
} from '../../../src/environment/sandbox/engine.ts';
import { EXEC_TIMEOUT_MS, MAX_OUTPUT_BYTES, runExec } from '../../../src/environment/sandbox/exec.ts';
import type { CommandOptions, Sandbox, SandboxFiles } from '../../../src/environment/sandbox/sandbox.ts';
import { shellQuoted } from '../../../src/support/text/shell-quote.ts';

/** A sandbox for tests in a temporary folder of this machine. It confines nothing: harmless commands only. */
export interface LocalSandbox extends Sandbox {
  /** Processes that were started, in their order. */
  readonly started: readonly ChildProcess[];
  /** Number of memory kills that the engine tells. */
  memoryKills: number;
}

/** Files and folders of `folder` as a sandbox of the session gives them: no link is followed. */
export async function openLocalSandbox({
  path = process.env.PATH ?? '',
  hasTerminals = true,
} = {}): Promise<LocalSandbox> {
  const workdir = await realpath(await mkdtemp(join(tmpdir(), 'proctor-tools-')));
  const started: ChildProcess[] = [];
  const state = { memoryKills: 0, told: 0 };
  const start = async (request: ProcessRequest) => {
    const child = startChild(request);
    started.push(child);
    return toSandboxProcess(child);
  };
  const engine = { start, memoryKills: async () => state.memoryKills } as Partial<EngineSandbox> as EngineSandbox;
  const toRequest = (command: string | readonly string[], { cwd = '.', env = {} }: CommandOptions) => ({
    command: typeof command === 'string' ? ['sh', '-c', command] : command,
    cwd: resolve(workdir, cwd),
    env: { PATH: path, HOME: workdir, ...env },
    user: undefined,
    pty: undefined,
  });
  return {
    name: 'main',
    workdir,
    started,
    get memoryKills() {
      return state.memoryKills;
    },
    set memoryKills(count) {
      state.memoryKills = count;
    },
    notEnforced: {},
    isFrozen: false,
    exec: (command, options = {}) => {
      const { stdin, timeoutMs = EXEC_TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES, signal } = options;
      const request = { ...toRequest(command, options), stdin, timeoutMs, maxOutputBytes };
      return runExec(engine, request, signal ?? new AbortController().signal);
    },
    spawn: async (command, options = {}) => {
      if (options.pty && !hasTerminals) throw new RangeError('This engine has no terminals');
      const pty = options.pty ? { columns: 80, rows: 24 } : undefined;
      return await start({ ...toRequest(command, options), pty });
    },
    files: filesBelow(workdir),
    copyIn: notHere,
    copyOut: notHere,
    fresh: notHere,
    freeze: notHere,
    changes: notHere,
    expose: notHere,
    memoryFault: async () => {
      const isNew = state.memoryKills > state.told;
      state.told = state.memoryKills;
      return isNew ? 'The sandbox ran out of memory (limit 64 MiB).' : undefined;
    },
    stop: async () => {
      for (const child of started) endGroup(child, 'SIGKILL');
      await rm(workdir, { recursive: true, force: true });
    },
  };
}

async function notHere(): Promise<never> {
  throw new Error('The sandbox of these tests has no such method');
}

function startChild({ command, cwd, env, pty }: ProcessRequest): ChildProcess {
  const words = pty === undefined ? command : ['script', '-qefc', command.map(shellQuoted).join(' '), '/dev/null'];
  const [program = '', ...args] = words;
  return spawn(program, args, { cwd, env: { ...env }, detached: true, stdio: 'pipe' });
}

function toSandboxProcess(child: ChildProcess): SandboxProcess {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('The program has no pipes');
  const exited = new Promise<ProcessExit>((done) => {
    child.on('error', () => done({ exitCode: 127, signal: null }));
    child.on('exit', (exitCode, signal) => {
      const finish = () => done({ exitCode, signal });
      child.once('close', finish);
      // A child of the program may hold the pipes: what the program wrote is read when nothing more comes for some rounds.
      untilQuiet([stdout as Socket, stderr as Socket], finish);
    });
  });
  return {
    stdin,
    stdout,
    stderr,
    exited,
    kill: async (signal = 'SIGKILL') => endGroup(child, signal),
    resize: async () => {},
  };
}

const QUIET_ROUNDS = 20;

function untilQuiet(streams: readonly Socket[], then: () => void, before = -1, rounds = 0): void {
  const read = streams.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  if (read === before && rounds >= QUIET_ROUNDS) then();
  else setImmediate(() => untilQuiet(streams, then, read, read === before ? rounds + 1 : 0));
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}

function filesBelow(workdir: string): SandboxFiles {
  const full = (name: string) => resolve(workdir, name);
  const stat = async (name: string): Promise<FileEntry | undefined> => {
    const found = await lstat(full(name)).catch(() => undefined);
    if (found === undefined) return undefined;
    const type = found.isSymbolicLink() ? 'link' : found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other';
    const size = type === 'file' ? found.size : 0;
    return {
      name: name.split('/').at(-1) ?? name,
      type,
      size,
      mode: found.mode & 0o7777,
      uid: found.uid,
      gid: found.gid,
    };
  };
  /** As engines do it: a path through a link is refused. */
  const refuseLinks = async (name: string) => {
    const folder = dirname(full(name));
    const real = await realpath(folder).catch(() => folder);
    if (real !== folder) throw new RangeError(`"${name}" leads through a link, which is not followed`);
  };
  return {
    stat: async (name) => {
      await refuseLinks(name);
      return await stat(name);
    },
    read: async (name, { maxBytes = 16 * 1024 ** 2 } = {}) => {
      await refuseLinks(name);
      const entry = await stat(name);
      if (entry?.type !== 'file') throw new RangeError(`There is no file ${name}`);
      if (entry.size > maxBytes) throw new RangeError(`${name} has ${entry.size} bytes`);
      return await readFile(full(name));
    },
    write: async (name, content, { mode } = {}) => {
      await refuseLinks(name);
      const before = await stat(name);
      await mkdir(dirname(full(name)), { recursive: true }).catch((cause) => {
        throw new RangeError(`${name} has no folder`, { cause });
      });
      // As engines do it: a new file takes the place of the old one.
      await rm(full(name), { force: true });
      await writeFile(full(name), content);
      await chmod(full(name), mode ?? (before?.type === 'file' ? before.mode : 0o644));
    },
    list: async (name = '.') => {
      const names = await readdir(full(name)).catch(() => {
        throw new RangeError(`${name} is no folder`);
      });
      const entries = await Promise.all(names.map((each) => stat(join(full(name), each))));
      return entries.flatMap((entry) => entry ?? []);
    },
    remove: async (name) => {
      await refuseLinks(name);
      await rm(full(name), { recursive: true, force: true });
    },
  };
}
