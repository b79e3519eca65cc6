import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import type { EngineSandbox, ProcessRequest, SandboxProcess } from './engine.ts';
import { OutputWindow } from './output-window.ts';

/** Default of `maxOutputBytes`, for each of standard output and standard error. */
export const MAX_OUTPUT_BYTES = 1024 * 1024;
/** Default of `timeoutMs`. */
export const EXEC_TIMEOUT_MS = 10 * 60_000;
/** A shell tells the end by a signal as this plus the signal's number. */
const BY_SIGNAL = 128;
/** Exit codes of a process that the kernel may have ended for its memory, directly or through its parent. */
const KILLED_CODES: readonly number[] = [BY_SIGNAL + constants.signals.SIGKILL, BY_SIGNAL + constants.signals.SIGTERM];

export interface ExecResult {
  /** Exit code; 128 plus the number of the signal that ended the program. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** True if the program was ended because its time was over. */
  readonly timedOut: boolean;
  /** True if the kernel ended a process because the sandbox ran out of memory. */
  readonly outOfMemory: boolean;
  /** True if a part of the output was left out. */
  readonly truncated: boolean;
  /** Bytes of the output that were left out. */
  readonly omittedBytes: number;
  readonly durationMs: number;
}

export interface ExecRequest extends Omit<ProcessRequest, 'pty'> {
  readonly stdin: string | Uint8Array | undefined;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
}

/**
 * Runs a program in a sandbox to its end. Output beyond the limit is read and dropped; beginning and end are kept.
 *
 * @throws EngineError; RangeError for an unknown user or folder; the reason of the signal, after the program has been ended.
 */
export async function runExec(sandbox: EngineSandbox, request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
  const { stdin, timeoutMs, maxOutputBytes, ...program } = request;
  const startedAt = performance.now();
  const child = await sandbox.start({ ...program, pty: undefined }, signal);
  const stdout = collect(child.stdout, maxOutputBytes);
  const stderr = collect(child.stderr, maxOutputBytes);
  // The program may end without having read its input.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin ?? '');
  const { exitCode, timedOut } = await untilExited(child, timeoutMs, signal);
  child.stdout.destroy();
  child.stderr.destroy();
  const mayBeMemory = !timedOut && KILLED_CODES.includes(exitCode);
  return {
    exitCode,
    stdout: stdout.text(),
    stderr: stderr.text(),
    timedOut,
    outOfMemory: mayBeMemory && (await hasNewMemoryKills(sandbox, signal)),
    truncated: stdout.omitted + stderr.omitted > 0,
    omittedBytes: stdout.omitted + stderr.omitted,
    durationMs: Math.round(performance.now() - startedAt),
  };
}

async function untilExited(child: SandboxProcess, timeoutMs: number, signal: AbortSignal) {
  let timedOut = false;
  let killing: Promise<void> | undefined;
  const kill = () => {
    killing ??= child.kill('SIGKILL');
    killing.catch(() => {}); // The program's end, awaited below, tells of a lost engine.
  };
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const { exitCode, signal: endedBy } = await child.exited;
    await killing;
    signal.throwIfAborted();
    return { exitCode: exitCode ?? BY_SIGNAL + constants.signals[endedBy ?? 'SIGKILL'], timedOut };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
  }
}

/** Memory kills that were seen, by sandbox: a kill of an earlier command is not told again. */
const seenKills = new WeakMap<EngineSandbox, number>();

/** True if the kernel has ended a process for its memory since the last question. */
export async function hasNewMemoryKills(sandbox: EngineSandbox, signal: AbortSignal): Promise<boolean> {
  const before = seenKills.get(sandbox) ?? 0;
  const now = await sandbox.memoryKills(signal);
  seenKills.set(sandbox, now);
  return now > before;
}

function collect(stream: Readable, maxBytes: number): OutputWindow {
  const window = new OutputWindow(Math.ceil(maxBytes / 2), Math.floor(maxBytes / 2));
  stream.on('error', () => {}); // The process reports it.
  stream.on('data', (chunk: Buffer) => window.write(chunk));
  return window;
}
