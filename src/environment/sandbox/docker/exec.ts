import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { sleep } from '../../../support/runtime/backoff.ts';
import { withDeadline } from '../../../support/runtime/deadline.ts';
import { EngineError, type ProcessRequest, type SandboxProcess } from '../engine.ts';
import { type DockerApi, WORK_LIMIT_MS } from './api.ts';
import { FrameSplitter } from './frames.ts';
import { DockerProcess, notStarted } from './process.ts';
import { isStatus } from './refusal.ts';
import { COMMAND_VARIABLE, RUN_PROGRAM, SEND_SIGNAL } from './wrapper.ts';

/** Owner of files. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** The container in which programs run. */
export interface Container {
  readonly api: DockerApi;
  readonly id: string;
  /** User of programs that name none. */
  readonly user: string;
  /** Numbers of that user, which owns what is put without an owner. */
  readonly owner: FileOwner;
  /** True if root in the container may end processes of other users. */
  readonly rootMayKill: boolean;
  /** The error of a call that failed because the container is gone or does not run; undefined if it runs. */
  whyGone(): Promise<EngineError | undefined>;
  /** True while the harness itself ends the processes of the container. */
  readonly isEnding: boolean;
  /** Ends all processes, in place of a signal that could not be sent. */
  endAll(): Promise<void>;
  /** Processes whose connections are open. */
  readonly processes: Set<DockerProcess>;
}

const idSchema = z.object({ Id: z.string() });
const stateSchema = z.object({ Running: z.boolean(), ExitCode: z.number().nullable() });
/** Bytes that a script of the harness may print. */
const MAX_SCRIPT_BYTES = 16 * 1024 * 1024;
/** An engine tells the exit code shortly after the end of the stream, or later when it has much to do. */
const EXIT_CODE_LIMIT_MS = 30_000;
const EXIT_CODE_EVERY_MS = [0, 5, 10, 20, 50, 100, 250];
const KILLED = 137;
const NO_USER = /unable to find (user|group)|no matching entries|no such user/i;
const NO_PROCESS = /resource temporarily unavailable|cannot allocate memory|too many processes|pids limit/i;

/** Starts a program as the interface of sandboxes says. */
export async function startProgram(
  container: Container,
  request: ProcessRequest,
  signal: AbortSignal,
): Promise<SandboxProcess> {
  const user = request.user ?? container.user;
  const token = randomBytes(12).toString('hex');
  const env = Object.entries(request.env).map(([name, value]) => `${name}=${value}`);
  const id = await createExec(container, signal, {
    Cmd: ['/bin/sh', '-c', RUN_PROGRAM, 'sh', request.cwd, ...request.command],
    AttachStdin: true,
    Tty: request.pty !== undefined,
    Env: [...env, `${COMMAND_VARIABLE}=${token}`],
    User: user,
  });
  const socket = await openExec(container, id, request.pty !== undefined, signal).catch((error: unknown) => {
    if (isStatus(error, 400, 404, 500) && NO_USER.test(error.words)) throw unknownUser(user, error.words);
    throw error;
  });
  const secret = randomBytes(16).toString('hex');
  const child = new DockerProcess(socket, secret, request.pty !== undefined, {
    exitCode: () => exitCode(container, id),
    kill: (name, group) => sendSignal(container, { name, group, token, user }),
    resize: (columns, rows) => resize(container, id, columns, rows),
    onClosed: () => container.processes.delete(child),
  });
  container.processes.add(child);
  try {
    if (request.pty !== undefined) await resizeNew(container, id, request.pty.columns, request.pty.rows, signal);
    socket.write(`${secret}\n`);
    const began = await withDeadline(() => child.began, { ms: WORK_LIMIT_MS, signal, toError: tooLate });
    if (began === 'started') return child;
    if (began === 'folder') {
      throw new RangeError(`The sandbox has no folder ${JSON.stringify(request.cwd)} that its user ${user} can enter`);
    }
    throw (await whyNotBegun(container, id, user, began.words)) ?? new EngineError('create', began.words);
  } catch (error) {
    child.disconnect();
    if (error instanceof NoProcessLeft) return notStarted(126, error.message);
    // The program may run already, or begin later.
    if (signal.aborted) await sendSignal(container, { name: 'SIGKILL', group: 0, token, user }).catch(() => {});
    throw error;
  }
}

/** The agent has used up the processes or the memory of its sandbox, which is no failure of the engine. */
class NoProcessLeft extends Error {}

function tooLate(limit: string): EngineError {
  return new EngineError('timeout', `The container engine started no program within ${limit}: it may be overloaded`);
}

function unknownUser(user: string, words: string): RangeError {
  return new RangeError(`The sandbox has no user ${JSON.stringify(user)}: ${words}`);
}

async function whyNotBegun(container: Container, id: string, user: string, words: string): Promise<Error | undefined> {
  if (NO_USER.test(words)) return unknownUser(user, words);
  const gone = await container.whyGone();
  if (gone !== undefined) return gone;
  if (NO_PROCESS.test(words)) {
    return new NoProcessLeft('cannot start the program: the sandbox is at its limit of processes or memory');
  }
  if (/\/bin\/sh/.test(words)) {
    return new EngineError('image', `The image has no /bin/sh, which sandboxes need: ${words}`);
  }
  // runc cannot start its own threads at the limit, and is ended without a word where memory is short.
  if (words === '' && (await exitCode(container, id)) !== 126) {
    return new NoProcessLeft('cannot start the program: the sandbox is at its limit of processes or memory');
  }
  return undefined;
}

export interface ScriptResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs a script of the harness in a container. */
export async function runScript(
  container: Container,
  { script, args, user }: { readonly script: string; readonly args: readonly string[]; readonly user: string },
  signal: AbortSignal,
): Promise<ScriptResult> {
  const Cmd = ['/bin/sh', '-c', script, 'sh', ...args];
  const id = await createExec(container, signal, { Cmd, AttachStdin: false, Tty: false, Env: [], User: user });
  const socket = await openExec(container, id, false, signal);
  const outputs: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  let length = 0;
  const splitter = new FrameSplitter((stream, bytes) => {
    length += bytes.length;
    if (length > MAX_SCRIPT_BYTES)
      throw new RangeError(`A script of the harness printed over ${MAX_SCRIPT_BYTES} bytes`);
    outputs[stream].push(bytes);
  });
  try {
    const read = async () => {
      for await (const chunk of socket as AsyncIterable<Buffer>) splitter.push(chunk);
    };
    await withDeadline(read, { ms: WORK_LIMIT_MS, signal, toError: tooLate });
  } finally {
    socket.destroy();
  }
  return {
    exitCode: await exitCode(container, id),
    stdout: Buffer.concat(outputs.stdout),
    stderr: Buffer.concat(outputs.stderr).toString('utf8'),
  };
}

interface ExecBody {
  readonly Cmd: readonly string[];
  readonly AttachStdin: boolean;
  readonly Tty: boolean;
  readonly Env: readonly string[];
  readonly User: string;
}

async function createExec(container: Container, signal: AbortSignal, body: ExecBody): Promise<string> {
  const { api, id } = container;
  const whole = { ...body, AttachStdout: true, AttachStderr: true, WorkingDir: '/' };
  try {
    const call = { method: 'POST', path: `/containers/${id}/exec`, body: whole, limitMs: WORK_LIMIT_MS } as const;
    return (await api.json(call, idSchema, signal)).Id;
  } catch (error) {
    if (isStatus(error, 400, 404, 500) && NO_USER.test(error.words)) throw unknownUser(body.User, error.words);
    if (isStatus(error, 404, 409, 500)) throw (await container.whyGone()) ?? error;
    throw error;
  }
}

async function openExec({ api }: Container, id: string, isTerminal: boolean, signal: AbortSignal): Promise<Socket> {
  const body = { Detach: false, Tty: isTerminal };
  return await api.upgrade({ method: 'POST', path: `/exec/${id}/start`, body, limitMs: WORK_LIMIT_MS }, signal);
}

async function exitCode(container: Container, id: string): Promise<number> {
  const endsAt = performance.now() + EXIT_CODE_LIMIT_MS;
  for (let round = 0; performance.now() < endsAt; round += 1) {
    await sleep(EXIT_CODE_EVERY_MS[Math.min(round, EXIT_CODE_EVERY_MS.length - 1)] ?? 0);
    const state = await inspectExec(container, id);
    if (state === undefined || (!state.Running && state.ExitCode === KILLED)) {
      if (container.isEnding) return KILLED;
      const gone = await container.whyGone();
      if (gone !== undefined) throw gone;
    }
    if (state !== undefined && !state.Running && state.ExitCode !== null) return state.ExitCode;
  }
  throw new EngineError(
    'lost',
    'The connection to the container engine broke off while a program ran, which may go on',
  );
}

/** Undefined if the engine knows the exec no more. */
async function inspectExec({ api }: Container, id: string) {
  const call = { method: 'GET', path: `/exec/${id}/json` } as const;
  return await api.json(call, stateSchema, AbortSignal.timeout(EXIT_CODE_LIMIT_MS)).catch((error: unknown) => {
    if (isStatus(error, 404, 500)) return undefined;
    throw error;
  });
}

interface Signal {
  readonly name: NodeJS.Signals;
  readonly group: number;
  readonly token: string;
  readonly user: string;
}

/** Sends a signal from inside, since no call of the engine reaches the processes of an exec. */
async function sendSignal(container: Container, { name, group, token, user }: Signal): Promise<void> {
  const args = [name.replace(/^SIG/, ''), String(group), token];
  const signal = AbortSignal.timeout(WORK_LIMIT_MS);
  try {
    // Variables of a process can be read by its own user alone, and what it started with more rights is ended by root.
    const { exitCode: code } = await runScript(container, { script: SEND_SIGNAL, args, user }, signal);
    if (container.rootMayKill) await runScript(container, { script: SEND_SIGNAL, args, user: '0' }, signal);
    if (code === 0 || name !== 'SIGKILL') return;
  } catch (error) {
    if (container.isEnding || (await container.whyGone()) !== undefined) return;
    if (name !== 'SIGKILL') throw error;
  }
  // At the limit of processes not even a shell can be started.
  await container.endAll();
}

async function resize({ api }: Container, id: string, columns: number, rows: number): Promise<void> {
  const call = { method: 'POST', path: `/exec/${id}/resize`, query: { h: rows, w: columns } } as const;
  await api.text(call, AbortSignal.timeout(EXIT_CODE_LIMIT_MS)).catch((error: unknown) => {
    if (!isStatus(error, 404, 409, 500)) throw error; // The program has ended.
  });
}

/** The engine answers before the process is there, and refuses to give it a size until then. */
async function resizeNew(container: Container, id: string, columns: number, rows: number, signal: AbortSignal) {
  const call = { method: 'POST', path: `/exec/${id}/resize`, query: { h: rows, w: columns } } as const;
  for (const waitMs of [10, 20, 50, 100, 200, 400, 800]) {
    try {
      await container.api.text(call, signal);
      return;
    } catch (error) {
      if (!isStatus(error, 404, 409, 500)) throw error;
      await sleep(waitMs, signal);
    }
  }
}
