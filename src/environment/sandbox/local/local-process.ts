import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PassThrough } from 'node:stream';
import { messageOf } from '../../../contract/errors.ts';
import { signalGroup } from '../../process/process-group.ts';
import { readProcesses } from '../../process/process-table.ts';
import { EngineError, type ProcessExit, type SandboxProcess, type TerminalSize } from '../engine.ts';
import { inheritedDescriptors } from './inherited-descriptors.ts';
import { OutputStream } from './output-stream.ts';
import { signalName, signalProcess } from './signals.ts';

/** A program of this machine that is started for a sandbox. It leads a process group of its own. */
export interface HostCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** True if the first process only waits for the program, and tells its end. Signals pass it by. */
  readonly waits?: boolean;
}

/** Starts a program with the descriptors that are given. Those that this process has by accident lead to nothing. */
export function spawnOnHost(
  { command, env, cwd, user }: HostCommand,
  given: readonly ('pipe' | 'ignore')[],
): ChildProcess {
  const [program = '', ...args] = command;
  const nothing = openSync('/dev/null', 'r');
  try {
    const stdio: ('pipe' | 'ignore' | number)[] = [...given];
    for (const descriptor of inheritedDescriptors()) {
      while (stdio.length <= descriptor) stdio.push('ignore');
      if (given[descriptor] === undefined) stdio[descriptor] = nothing;
    }
    return spawn(program, args, { cwd, env: { ...env }, detached: true, stdio, ...user });
  } finally {
    closeSync(nothing);
  }
}

/** @throws EngineError if the program that enters the sandbox cannot be started. */
export async function startWithPipes(command: HostCommand): Promise<SandboxProcess> {
  const child = spawnOnHost(command, ['pipe', 'pipe', 'pipe']);
  const { stdin, stdout, stderr, pid } = child;
  // Stays attached, because a failed kill is reported here too.
  const failed = new Promise<Error>((resolve) => child.on('error', resolve));
  if (pid === undefined || stdin === null || stdout === null || stderr === null) {
    const error = await failed;
    throw new EngineError('create', `A program cannot be started in the sandbox: ${messageOf(error)}`, {
      cause: error,
    });
  }
  stdin.on('error', () => {});
  const outputs = [new OutputStream(stdout), new OutputStream(stderr)] as const;
  let hasExited = false;
  const exited = new Promise<ProcessExit>((resolve) => {
    child.once('exit', (exitCode, signal) => {
      hasExited = true;
      stdin.destroy();
      void Promise.all(outputs.map((each) => each.settle())).then(() => resolve({ exitCode, signal }));
    });
  });
  return {
    stdin,
    stdout: outputs[0],
    stderr: outputs[1],
    exited,
    async kill(signal = 'SIGKILL') {
      // Without a member the group's number may be given to others. Whoever holds the output is a member, or has left.
      if (!hasExited || !outputs.every((each) => each.hasEnded)) signalProgram(pid, signal, command.waits === true);
    },
    async resize() {},
  };
}

function signalProgram(leader: number, signal: NodeJS.Signals, waits: boolean): void {
  if (!waits || signal === 'SIGKILL') {
    signalGroup(leader, signal);
    return;
  }
  for (const { pid, group } of readProcesses()) {
    if (group === leader && pid !== leader) signalProcess(pid, signal);
  }
}

interface Terminal {
  readonly pid: number;
  onData(listener: (data: string | Buffer) => void): unknown;
  onExit(listener: (exit: { readonly exitCode: number; readonly signal?: number }) => void): unknown;
  write(data: string | Buffer): void;
  resize(columns: number, rows: number): void;
  pause(): void;
  resume(): void;
}

interface TerminalModule {
  spawn(program: string, args: readonly string[], options: Readonly<Record<string, unknown>>): Terminal;
}

/** @throws EngineError that names the package that terminals need. */
export async function startWithTerminal(command: HostCommand, size: TerminalSize): Promise<SandboxProcess> {
  const { columns, rows } = size;
  const [program = '', ...args] = command.command;
  const { env, cwd, user } = command;
  const terminal = loadTerminals().spawn(program, args, {
    name: 'xterm-256color',
    cols: columns,
    rows,
    cwd,
    env: { ...env },
    encoding: null,
    ...user,
  });
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const stdin = new PassThrough();
  let hasExited = false;
  terminal.onData((data) => {
    if (stdout.write(data)) return;
    terminal.pause();
    stdout.once('drain', () => terminal.resume());
  });
  stdin.on('data', (chunk: Buffer) => terminal.write(chunk));
  // The end of a terminal's input is the character that shells know for it.
  stdin.on('end', () => hasExited || terminal.write('\x04'));
  stderr.end();
  const exited = new Promise<ProcessExit>((resolve) => {
    terminal.onExit(({ exitCode, signal }) => {
      hasExited = true;
      stdout.end();
      const name = signalName(signal);
      resolve(name === undefined ? { exitCode, signal: null } : { exitCode: null, signal: name });
    });
  });
  return {
    stdin,
    stdout,
    stderr,
    exited,
    async kill(signal = 'SIGKILL') {
      if (!hasExited) signalGroup(terminal.pid, signal);
    },
    async resize(newColumns, newRows) {
      if (!hasExited) terminal.resize(newColumns, newRows);
    },
  };
}

function loadTerminals(): TerminalModule {
  try {
    return createRequire(import.meta.url)('@lydell/node-pty') as TerminalModule;
  } catch (cause) {
    const message = 'A terminal needs the optional package @lydell/node-pty, which is not installed here';
    throw new EngineError('refused', `${message}: run "npm install @lydell/node-pty", or start without a terminal`, {
      cause,
    });
  }
}
