import { endsWithin } from '../../support/runtime/deadline.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { SandboxProcess } from '../sandbox/engine.ts';
import { OutputWindow } from '../sandbox/output-window.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { CommandOutput } from './command-output.ts';
import { QUIET_VARIABLES } from './persistent-shell.ts';

/** Commands that may run at once. */
const MAX_SESSIONS = 16;
/** Bytes of output that are kept between two calls, half of the beginning and half of the end. */
const KEPT_BYTES = 128 * 1024;
/** Bytes that Codex counts as a token. */
const TOKEN_BYTES = 4;
const INTERRUPT = '\u0003';
/** Both outputs in one stream. `$1` is the shell, empty for the best one, and `$2` its option. */
const RUN =
  'exec 2>&1; [ -n "$1" ] && exec "$1" "$2" "$0"; command -v bash >/dev/null 2>&1 && exec bash "$2" "$0"; exec sh "$2" "$0"';

export interface ExecOptions {
  readonly workdir?: string | undefined;
  readonly shell?: string | undefined;
  readonly login: boolean;
  readonly tty: boolean;
}

interface ExecSession {
  readonly process: SandboxProcess;
  readonly tty: boolean;
  readonly ended: Promise<void>;
  window: OutputWindow;
  exit?: { readonly exitCode: number | null };
}

/** Commands that go on between calls, by their ids. */
export class ExecSessions {
  readonly #sandbox: Sandbox;
  readonly #sessions = new Map<number, ExecSession>();
  #lastId = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** @throws ToolError if too many commands run, for an unknown folder, and where there are no terminals. */
  async start(command: string, { workdir, shell = '', login, tty }: ExecOptions, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    this.#makeRoom();
    this.#lastId += 1;
    const id = this.#lastId;
    const process = await this.#spawn(['sh', '-c', RUN, command, shell, login ? '-lc' : '-c'], workdir, tty);
    const session: ExecSession = {
      process,
      tty,
      window: newWindow(),
      ended: process.exited.then(
        ({ exitCode }) => {
          session.exit = { exitCode };
        },
        () => {
          session.exit = { exitCode: null }; // The engine failed: the next use of the sandbox says it.
        },
      ),
    };
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on('error', () => {}); // `exited` tells.
    for (const stream of [process.stdout, process.stderr]) {
      stream.on('data', (chunk: Buffer) => session.window.write(chunk));
    }
    if (!tty) process.stdin.end();
    this.#sessions.set(id, session);
    return id;
  }

  /** Writes input. @throws ToolError for an unknown id, and for input without a terminal. */
  async write(id: number, text: string): Promise<void> {
    const session = this.#get(id);
    if (text === '' || session.exit !== undefined) return;
    if (session.tty) session.process.stdin.write(text);
    else if (text === INTERRUPT) await session.process.kill('SIGINT');
    else throw new ToolError(`Session ${id} has no input: start the command with tty true. \\u0003 interrupts it.`);
  }

  /** The output since the last call. A command that has ended is forgotten. Cancelling the call ends the command. */
  async wait(id: number, ms: number, maxTokens: number, signal: AbortSignal): Promise<CommandOutput> {
    const startedAt = performance.now();
    const session = this.#get(id);
    try {
      await endsWithin(session.ended, ms, signal);
    } catch (error) {
      this.#sessions.delete(id);
      await session.process.kill('SIGKILL');
      throw error;
    }
    const { window, exit } = session;
    session.window = newWindow();
    if (exit !== undefined) this.#sessions.delete(id);
    const shown = new OutputWindow(Math.ceil((maxTokens * TOKEN_BYTES) / 2), Math.floor((maxTokens * TOKEN_BYTES) / 2));
    shown.write(Buffer.from(window.text().replaceAll('\r\n', '\n')));
    const memory = exit?.exitCode === KILLED ? await this.#sandbox.memoryFault() : undefined;
    return {
      exitCode: exit?.exitCode ?? null,
      output: shown.text(),
      omittedBytes: window.omitted + shown.omitted,
      timedOut: false,
      durationMs: Math.round(performance.now() - startedAt),
      ...(exit === undefined && { sessionId: id }),
      notes: [
        ...(exit === undefined ? [`[the command goes on: session_id ${id}]`] : []),
        ...(memory === undefined ? [] : [memory]),
      ],
    };
  }

  #get(id: number): ExecSession {
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    const known = [...this.#sessions.keys()];
    const names = known.length === 0 ? 'No command runs' : `Commands that run have the ids ${known.join(', ')}`;
    throw new ToolError(`There is no session ${id}. ${names}.`);
  }

  /** Forgets the oldest command that has ended, if it has to. */
  #makeRoom(): void {
    if (this.#sessions.size < MAX_SESSIONS) return;
    const [ended] = [...this.#sessions].find(([, { exit }]) => exit !== undefined) ?? [];
    if (ended !== undefined) this.#sessions.delete(ended);
    else {
      const ids = [...this.#sessions.keys()].join(', ');
      throw new ToolError(
        `${MAX_SESSIONS} commands run, which is the limit: end one of ${ids} with write_stdin first.`,
      );
    }
  }

  async #spawn(command: readonly string[], workdir: string | undefined, tty: boolean): Promise<SandboxProcess> {
    try {
      const cwd = workdir === undefined ? {} : { cwd: workdir };
      return await this.#sandbox.spawn(command, { env: QUIET_VARIABLES, pty: tty, ...cwd });
    } catch (error) {
      // An unknown folder, or an engine without terminals.
      if (error instanceof RangeError) throw new ToolError(`${error.message}.`, { cause: error });
      throw error;
    }
  }
}

/** Exit code of a process that was ended by SIGKILL. */
const KILLED = 137;

function newWindow(): OutputWindow {
  return new OutputWindow(KEPT_BYTES / 2, KEPT_BYTES / 2);
}
