import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type {
  EngineSandbox,
  FileEntry,
  ProcessRequest,
  SandboxProcess,
} from '../../../src/environment/sandbox/engine.ts';
import {
  EXEC_TIMEOUT_MS,
  hasNewMemoryKills,
  MAX_OUTPUT_BYTES,
  runExec,
} from '../../../src/environment/sandbox/exec.ts';
import type { CommandOptions, Sandbox } from '../../../src/environment/sandbox/sandbox.ts';

/** A sandbox for tests in a temporary folder of this machine. It confines nothing: harmless commands only. */
export interface LocalSandbox extends Sandbox {
  /** Number of memory kills that the sandbox tells. */
  kills: number;
  /** Processes that have been started, by their ids. */
  readonly started: number[];
}

export async function openLocalSandbox(path = process.env.PATH ?? ''): Promise<LocalSandbox> {
  const workdir = await realpath(await mkdtemp(join(tmpdir(), 'proctor-tools-')));
  const children = new Set<ChildProcess>();
  const started: number[] = [];
  const state = { kills: 0 };
  const start = async (request: ProcessRequest): Promise<SandboxProcess> => {
    const [program = '', ...args] = request.command;
    const child = spawn(program, args, { cwd: request.cwd, env: { ...request.env }, detached: true });
    children.add(child);
    if (child.pid !== undefined) started.push(child.pid);
    const exited = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((done) => {
      child.on('error', () => done({ exitCode: 127, signal: null }));
      // A child of the program may hold the streams: what the program wrote has come a moment later.
      child.on('exit', (exitCode, signal) => setTimeout(() => done({ exitCode, signal }), 20));
    });
    return {
      stdin: child.stdin,
      stdout: child.stdout,
      stderr: child.stderr,
      exited,
      kill: async (signal = 'SIGKILL') => endGroup(child, signal),
      resize: async () => {},
    };
  };
  const engine = { start, memoryKills: async () => state.kills } as Partial<EngineSandbox> as EngineSandbox;
  const full = (name: string) => resolve(workdir, name);
  const toRequest = (command: string | readonly string[], { cwd = '.', env = {} }: CommandOptions) => ({
    command: typeof command === 'string' ? ['sh', '-c', command] : command,
    cwd: full(cwd),
    env: { PATH: path, HOME: workdir, ...env },
    user: undefined,
    pty: undefined,
  });
  const notHere = async (): Promise<never> => {
    throw new Error('The sandbox of these tests has no such method');
  };
  const entryOf = async (name: string): Promise<FileEntry | undefined> => {
    const found = await lstat(full(name)).catch(() => undefined);
    if (found === undefined) return undefined;
    const type = found.isSymbolicLink() ? 'link' : found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other';
    return { name, type, size: found.size, mode: found.mode & 0o7777, uid: found.uid, gid: found.gid };
  };
  return {
    name: 'main',
    workdir,
    started,
    get kills() {
      return state.kills;
    },
    set kills(count) {
      state.kills = count;
    },
    notEnforced: {},
    isFrozen: false,
    exec: (command, options = {}) => {
      const { stdin, timeoutMs = EXEC_TIMEOUT_MS, maxOutputBytes = MAX_OUTPUT_BYTES, signal } = options;
      const request = { ...toRequest(command, options), stdin, timeoutMs, maxOutputBytes };
      return runExec(engine, request, signal ?? new AbortController().signal);
    },
    spawn: async (command, options = {}) => {
      if (options.pty) throw new RangeError('This engine has no terminals');
      return await start(toRequest(command, options));
    },
    files: {
      read: async (name, { maxBytes = 16 * 1024 ** 2 } = {}) => {
        const entry = await entryOf(name);
        if (entry?.type !== 'file') throw new RangeError(`There is no file ${name}`);
        if (entry.size > maxBytes) throw new RangeError(`${name} has ${entry.size} bytes`);
        return await readFile(full(name));
      },
      write: async (name, content, { mode } = {}) => {
        const before = await entryOf(name);
        await mkdir(dirname(full(name)), { recursive: true });
        // As the engines do: a new file takes the place of the old one.
        await rm(full(name), { force: true });
        await writeFile(full(name), content);
        await chmod(full(name), mode ?? before?.mode ?? 0o644);
      },
      list: async (name = '.') => {
        const entries = await Promise.all((await readdir(full(name))).map((each) => entryOf(join(full(name), each))));
        return entries.flatMap((entry) => entry ?? []);
      },
      stat: entryOf,
      remove: (name) => rm(full(name), { recursive: true, force: true }),
    },
    copyIn: notHere,
    copyOut: notHere,
    fresh: notHere,
    freeze: notHere,
    changes: notHere,
    expose: notHere,
    memoryFault: async () => {
      const signal = new AbortController().signal;
      return (await hasNewMemoryKills(engine, signal)) ? 'The sandbox ran out of memory.' : undefined;
    },
    stop: async () => {
      for (const child of children) endGroup(child, 'SIGKILL');
      await rm(workdir, { recursive: true, force: true });
    },
  };
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone.
  }
}
