import { spawn } from 'node:child_process';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../contract/errors.ts';
import { signalGroup } from '../../environment/process/process-group.ts';
import { readOwnProcesses } from '../../environment/process/process-table.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';

/**
 * A training program in the folder of its job. It keeps running when the service ends, and is found again by its files.
 * The program's own shell creates `pid.<n>` exclusively before anything else, so that a start with an unknown result is
 * not repeated. `exit.<n>` holds its exit code.
 */
export interface ProgramPlace {
  readonly directory: string;
  /** Counted from 1. A lost program is started again with the next number. */
  readonly attempt: number;
}

export type ProgramState =
  | { readonly state: 'running'; readonly pid: number }
  | { readonly state: 'ended'; readonly code: number }
  /** The program never started, or died without an exit code. */
  | { readonly state: 'lost' };

/** The shell script. It refuses a second program of the same attempt, then runs the command. */
const SHELL = 'set -C; echo $$ > "$1" || exit 75; set +C; exit_file=$2; shift 2; "$@"; echo $? > "$exit_file"';
/** Name of the shell in the process list, to recognize it. */
const SHELL_NAME = 'proctor-training';
/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;
/** Milliseconds that a new shell has to write its pid. */
const BEGINNING_MS = 5_000;

/** Starts the program, and resolves when it runs. @throws Error when it cannot be started. */
export async function startProgram(
  place: ProgramPlace,
  command: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const paths = pathsOf(place);
  const output = await open(paths.stdout, 'a', 0o600);
  const errors = await open(paths.stderr, 'a', 0o600);
  try {
    const child = spawn('/bin/sh', ['-c', SHELL, SHELL_NAME, paths.pid, paths.exit, ...command], {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', output.fd, errors.fd],
    });
    child.unref();
    await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  } finally {
    await Promise.all([output.close(), errors.close()]);
  }
  const endsAt = performance.now() + BEGINNING_MS;
  while (performance.now() < endsAt && (await stateOf(place)).state === 'lost') await sleep(PERIODS_MS.trainingProgram);
}

export async function stateOf(place: ProgramPlace): Promise<ProgramState> {
  const { pid: pidFile, exit } = pathsOf(place);
  const code = await readNumber(exit);
  if (code !== undefined) return { state: 'ended', code };
  const pid = await readNumber(pidFile);
  if (pid !== undefined && isOurs(pid, pidFile)) return { state: 'running', pid };
  // The program may have ended between the two checks.
  const late = await readNumber(exit);
  return late === undefined ? { state: 'lost' } : { state: 'ended', code: late };
}

/** Ends the program and all processes that it started. */
export async function endProgram(place: ProgramPlace): Promise<void> {
  const found = await stateOf(place);
  if (found.state !== 'running') return;
  signalGroup(found.pid, 'SIGTERM');
  const endsAt = performance.now() + GRACE_MS;
  while (performance.now() < endsAt && isGroupThere(found.pid)) await sleep(PERIODS_MS.trainingProgram);
  signalGroup(found.pid, 'SIGKILL');
  while (performance.now() < endsAt + GRACE_MS && isGroupThere(found.pid)) await sleep(PERIODS_MS.trainingProgram);
}

/** Kills the processes that an ended program left behind. */
export async function endRest(place: ProgramPlace): Promise<void> {
  const pid = await readNumber(pathsOf(place).pid);
  if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  await rm(pathsOf(place).pid, { force: true });
}

/** The end of the program's error output. */
export async function readErrors(place: ProgramPlace, characters: number): Promise<string> {
  const text = await readTail(pathsOf(place).stderr, characters).catch((error: unknown) => messageOf(error));
  return text.trim();
}

/** Part of the program's output: at most `bytes` bytes from an offset on. */
export async function readOutput(place: ProgramPlace, from: number, bytes: number): Promise<Buffer> {
  const file = await open(pathsOf(place).stdout, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function pathsOf({ directory, attempt }: ProgramPlace) {
  return {
    pid: join(directory, `pid.${attempt}`),
    exit: join(directory, `exit.${attempt}`),
    stdout: join(directory, `stdout.${attempt}.jsonl`),
    stderr: join(directory, `stderr.${attempt}.log`),
  };
}

/** True when the pid still belongs to this program, and was not reused. On Linux its arguments name the file. */
function isOurs(pid: number, pidFile: string): boolean {
  if (process.platform !== 'linux') return isGroupThere(pid);
  return readOwnProcesses().some((row) => row.pid === pid && row.command.includes(`\0${pidFile}\0`));
}

function isGroupThere(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return true;
  } catch {
    return false;
  }
}

async function readNumber(path: string): Promise<number | undefined> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return /^\d+\n$/.test(text) ? Number(text) : undefined;
}

async function readTail(path: string, characters: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - characters);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(characters), 0, characters, from);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await file.close();
  }
}
