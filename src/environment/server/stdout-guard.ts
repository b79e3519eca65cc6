import childProcess, { ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { Writable } from 'node:stream';

export interface StdoutGuard {
  /** The real standard output. */
  readonly stdout: Writable;
  /** Releases the guard. The last release restores everything. */
  release(): void;
}

/**
 * Redirects standard output to standard error: `console`, `process.stdout`, and the standard output of child processes
 * that inherit it. A child that gets the descriptor explicitly in another way is not redirected. Children do not
 * inherit standard input either, because it may carry the protocol.
 */
export function guardStdout(): StdoutGuard {
  if (holders === 0) restore = redirect();
  holders += 1;
  let isHeld = true;
  return {
    stdout: realStdout(),
    release() {
      if (!isHeld) return;
      isHeld = false;
      holders -= 1;
      if (holders > 0) return;
      restore();
      restore = () => {};
    },
  };
}

// Module state, because a process has one standard output: all sessions share one redirection.
let holders = 0;
let restore = () => {};
let writeForReal = process.stdout.write;

function redirect(): () => void {
  const { stdout } = process;
  const { write: originalWrite, end: originalEnd } = stdout;
  writeForReal = originalWrite.bind(stdout) as typeof originalWrite;
  stdout.write = process.stderr.write.bind(process.stderr) as typeof originalWrite;
  stdout.end = withoutEnd as typeof originalEnd;
  const restoreChildren = redirectChildren();
  return () => {
    Object.assign(stdout, { write: originalWrite, end: originalEnd });
    restoreChildren();
  };
}

/** `end` must not close the stream, because the protocol uses it. It only writes its last chunk. */
function withoutEnd(this: typeof process.stdout, ...args: unknown[]): typeof process.stdout {
  const callback = args.find((arg): arg is () => void => typeof arg === 'function');
  const [chunk] = args;
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) this.write(chunk);
  if (callback !== undefined) process.nextTick(callback);
  return this;
}

function realStdout(): Writable {
  const write = writeForReal;
  return new Writable({
    decodeStrings: false,
    write: (chunk, encoding, callback) => {
      write(chunk, encoding, callback);
    },
  });
}

/**
 * Patches Node.js, because a library of the author may start programs that inherit standard output and would print into
 * the protocol. `spawn`, `exec`, `execFile` and `fork` all call one method, which the type definitions do not show; the
 * others are functions.
 */
function redirectChildren(): () => void {
  const prototype = ChildProcess.prototype as unknown as { spawn(options: Record<string, unknown>): unknown };
  const { spawn } = prototype;
  const { spawnSync, execSync, execFileSync } = childProcess;
  prototype.spawn = function (this: unknown, options) {
    return spawn.call(this, withoutStdout(options));
  };
  Object.assign(childProcess, {
    spawnSync: withRedirectedOptions(spawnSync),
    execSync: withRedirectedOptions(execSync),
    execFileSync: withRedirectedOptions(execFileSync),
  });
  syncBuiltinESMExports();
  return () => {
    prototype.spawn = spawn;
    Object.assign(childProcess, { spawnSync, execSync, execFileSync });
    syncBuiltinESMExports();
  };
}

function withRedirectedOptions(start: (...args: never[]) => unknown): unknown {
  return (...args: unknown[]) => {
    const redirected = args.map((arg, index) => (index > 0 && isOptions(arg) ? withoutStdout(arg) : arg));
    return start(...(redirected as never[]));
  };
}

function isOptions(arg: unknown): arg is Record<string, unknown> {
  return typeof arg === 'object' && arg !== null && !Array.isArray(arg);
}

function withoutStdout(options: Record<string, unknown>): Record<string, unknown> {
  const { stdio } = options;
  if (stdio === 'inherit') return { ...options, stdio: ['ignore', 2, 2] };
  if (!Array.isArray(stdio)) return options;
  return { ...options, stdio: stdio.map(redirected) };
}

function redirected(target: unknown, descriptor: number): unknown {
  if (target === 1 || target === process.stdout) return 2;
  if (target === 0 || target === process.stdin) return 'ignore';
  if (target !== 'inherit') return target;
  return descriptor === 0 ? 'ignore' : descriptor === 1 ? 2 : target;
}
