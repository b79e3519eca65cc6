import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { highestInheritedDescriptor } from './inherited-descriptors.ts';
import { OutputWindow } from './output-window.ts';
import { measureTree, treeOf } from './process-tree.ts';
import type { User } from './unprivileged-user.ts';

/** How often memory and processes are counted. */
const MEASURE_INTERVAL_MS = 100;
/** How long the output of a process that has ended may still arrive, held open by one that left its group. */
const DRAIN_MS = 500;
/** How long a container may take to end after what is in it was killed. */
const CONTAINER_END_MS = 200;
/** How much longer a process may take until the first byte of its result: starting on a busy machine is not its fault. */
const START_MS = 15_000;
const RESULT_FD = 3;
const MAX_RESULT_BYTES = 1024 * 1024;

export interface ProcessLimits {
  /** From the start; of a process with a result from the first byte of that. */
  readonly timeMs: number;
  /** Of all its processes together, and of each. */
  readonly memoryBytes: number;
  readonly processes: number;
  /** What may be written in all. More ends it, so that nothing is busy with reading what nobody keeps. */
  readonly outputBytes: number;
  /** What is kept of the output, half of it from the beginning and half from the end. */
  readonly keptOutputBytes: number;
}

export interface ProcessRequest {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the process. */
  readonly variables: Readonly<Record<string, string>>;
  readonly input: string;
  /** True: the process may write a result to descriptor 3. */
  readonly hasResult: boolean;
  /** True: the process ends by itself when the one that it has started does, and takes everything below along. */
  readonly isContainer: boolean;
  /** Whom it runs as; undefined: whoever runs this process. */
  readonly user: User | undefined;
  readonly limits: ProcessLimits;
  readonly signal: AbortSignal | undefined;
}

/** Why a process ended: by itself, or by the limit that it ran into. */
export type ProcessEnding = 'exited' | 'time' | 'memory' | 'processes' | 'output';

export interface ProcessResult {
  readonly ending: ProcessEnding;
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Standard output and standard error, as they came. */
  readonly output: string;
  /** What was written to descriptor 3, at most 1 MiB. */
  readonly result: string;
  readonly durationMs: number;
}

/**
 * Runs a process in a group of its own to its end, which its limits or the signal may bring about. When it has ended, so
 * has its group. It inherits no descriptor but those that it is given.
 *
 * @throws Error when it cannot be started; the reason of the signal when that is aborted.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessResult> {
  const { program, args, cwd, variables, input, hasResult, isContainer, user, limits, signal } = request;
  signal?.throwIfAborted();
  const startedAt = performance.now();
  const stdio = toStdio(hasResult);
  const child = spawn(program, args, { cwd, env: { ...variables }, detached: true, stdio, ...user });
  const output = new OutputWindow(limits.keptOutputBytes / 2, limits.keptOutputBytes / 2);
  const result = new OutputWindow(MAX_RESULT_BYTES, 0);
  let ending: ProcessEnding = 'exited';
  const stop = (reason: ProcessEnding) => {
    if (child.exitCode !== null || child.signalCode !== null || ending !== 'exited') return;
    ending = reason;
    killTree(child, isContainer);
  };
  collect(child.stdout, output, limits.outputBytes, () => stop('output'));
  collect(child.stderr, output, limits.outputBytes, () => stop('output'));
  collect(child.stdio[RESULT_FD], result, MAX_RESULT_BYTES, () => stop('output'));
  let timer = setTimeout(() => stop('time'), hasResult ? limits.timeMs + START_MS : limits.timeMs);
  child.stdio[RESULT_FD]?.once('data', () => {
    clearTimeout(timer);
    timer = setTimeout(() => stop('time'), limits.timeMs);
  });
  // It may end without having read its input.
  child.stdin?.on('error', () => {});
  child.stdin?.end(input);

  const meter = setInterval(() => {
    const { processes, memoryBytes } =
      child.pid === undefined ? { processes: 0, memoryBytes: 0 } : measureTree(child.pid);
    if (memoryBytes > limits.memoryBytes) stop('memory');
    else if (processes > limits.processes) stop('processes');
  }, MEASURE_INTERVAL_MS);
  const onAbort = () => killTree(child, isContainer);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    await ended(child, isContainer);
  } finally {
    clearTimeout(timer);
    clearInterval(meter);
    signal?.removeEventListener('abort', onAbort);
  }
  signal?.throwIfAborted();
  const { exitCode, signalCode } = child;
  const durationMs = Math.round(performance.now() - startedAt);
  return { ending, exitCode, signal: signalCode, output: output.text(), result: result.text(), durationMs };
}

/** What this process would pass on by accident is covered by nothing at all. */
function toStdio(hasResult: boolean): ('pipe' | 'ignore')[] {
  const covered = Array.from({ length: highestInheritedDescriptor() + 1 }, () => 'ignore' as const);
  const given = ['pipe', 'pipe', 'pipe', hasResult ? 'pipe' : 'ignore'] as const;
  return [...given, ...covered.slice(given.length)];
}

function collect(stream: unknown, window: OutputWindow, maxBytes: number, onTooMuch: () => void): void {
  if (!isReadable(stream)) return;
  stream.on('error', () => {});
  stream.on('data', (chunk: Buffer) => {
    window.write(chunk);
    if (window.total > maxBytes) onTooMuch();
  });
}

function isReadable(stream: unknown): stream is Readable {
  return typeof stream === 'object' && stream !== null && 'on' in stream;
}

/** Resolves when the process was reaped, its group is gone and its output was read. @throws Error when it could not be started. */
function ended(child: ChildProcess, isContainer: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let drain: NodeJS.Timeout | undefined;
    // Stays attached: a failed kill is reported here too, and must not be thrown.
    child.on('error', (error) => {
      if (child.pid === undefined) reject(error);
    });
    child.once('exit', () => {
      killTree(child, isContainer);
      drain = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, DRAIN_MS);
    });
    child.once('close', () => {
      clearTimeout(drain);
      resolve();
    });
  });
}

/**
 * Kills the process, its group and everything below it, also what has left the group.
 *
 * A container ends with its child. That one is killed first, so that the container can reap it; killing both would leave
 * what the container had not yet bound to its own life running.
 */
function killTree(child: ChildProcess, isContainer: boolean): void {
  const { pid } = child;
  if (pid === undefined) return;
  const [, ...below] = treeOf(pid);
  for (const each of below) kill(each);
  const killRest = () => {
    if (child.exitCode === null && child.signalCode === null) kill(-pid);
  };
  if (isContainer && below.length > 0) setTimeout(killRest, CONTAINER_END_MS).unref();
  else kill(-pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
