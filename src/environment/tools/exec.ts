import { z } from 'zod';
import { endsWithin } from '../../support/runtime/deadline.ts';
import type { Session } from '../authoring/definition.ts';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import { withoutTerminalSequences } from '../process/output-tail.ts';
import type { SandboxProcess } from '../sandbox/engine.ts';
import { OutputWindow } from '../sandbox/output-window.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { withoutNul } from './bash.ts';
import {
  type CommandOutput,
  MAX_SHOWN_OUTPUT,
  MEMORY_TEXT,
  mayLackMemory,
  ranOutOfMemory,
  textResult,
  toStructured,
} from './tool-output.ts';

const MAX_SESSIONS = 16;
/** Bytes that a token stands for, as Codex counts. */
const BYTES_PER_TOKEN = 4;
const WRITE_WAIT_MS = 250;
const POLL_WAIT_MS = 5_000;
const MAX_WAIT_MS = 30_000;
const MAX_POLL_MS = 300_000;
const EXEC_DESCRIPTION = `Runs a command. If it still runs after yield_time_ms, the result has a session_id, for write_stdin. At most ${MAX_SESSIONS} commands are kept; the oldest finished one is forgotten first. With tty the command gets a terminal, on computers that have one.`;
const WRITE_DESCRIPTION =
  'Writes characters to a running command of exec_command, and gives its new output. Without characters it waits for output.';

const tokens = z
  .int()
  .min(1)
  .default(10_000)
  .describe('Tokens of output that are shown; the middle of a longer output is left out.');

/** Adds `exec_command` and `write_stdin`: commands that may go on while the agent does something else. */
export function exec(sandbox: Sandbox): ToolSet {
  return {
    role: 'shell',
    addTo(env) {
      const sessions = new WeakMap<Session, Commands>();
      const commandsOf = (session: Session) => {
        const commands = sessions.get(session) ?? new Commands(sandbox);
        sessions.set(session, commands);
        return commands;
      };
      const execArgs = {
        cmd: z.string().min(1).describe('The command.'),
        workdir: z.string().optional().describe('The folder to run it in. Default: the working folder.'),
        shell: z.string().optional().describe('The shell, such as bash. Default: sh.'),
        login: z.boolean().default(false).describe('True runs a login shell.'),
        tty: z.boolean().default(false).describe('True gives the command a terminal.'),
        yield_time_ms: z.int().min(0).default(10_000).describe('Milliseconds to wait for the end, 250 to 30,000.'),
        max_output_tokens: tokens,
      };
      env.tool('exec_command', { description: EXEC_DESCRIPTION, args: execArgs }, (args, { session, signal }) =>
        commandsOf(session).start(args, signal),
      );
      const writeArgs = {
        session_id: z.int().describe('The session_id that exec_command gave.'),
        chars: z.string().default('').describe('Characters to write. \\u0003 is Ctrl-C.'),
        yield_time_ms: z.int().min(0).optional().describe('Milliseconds to wait: 250 after writing, else 5,000.'),
        max_output_tokens: tokens,
      };
      env.tool('write_stdin', { description: WRITE_DESCRIPTION, args: writeArgs }, (args, { session, signal }) =>
        commandsOf(session).write(args, signal),
      );
    },
  };
}

interface StartArgs {
  readonly cmd: string;
  readonly workdir?: string | undefined;
  readonly shell?: string | undefined;
  readonly login: boolean;
  readonly tty: boolean;
  readonly yield_time_ms: number;
  readonly max_output_tokens: number;
}

interface WriteArgs {
  readonly session_id: number;
  readonly chars: string;
  readonly yield_time_ms?: number | undefined;
  readonly max_output_tokens: number;
}

/** The commands of one session of an agent. */
class Commands {
  readonly #sandbox: Sandbox;
  readonly #commands = new Map<number, Command>();
  #lastId = 0;

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  async start(args: StartArgs, signal: AbortSignal): Promise<ToolResult> {
    this.#makeRoom();
    const line = [args.shell ?? 'sh', ...(args.login ? ['-l'] : []), '-c', withoutNul(args.cmd)];
    const child = await this.#spawn(line, args);
    this.#lastId += 1;
    const id = this.#lastId;
    const command = new Command(child, args.tty);
    this.#commands.set(id, command);
    const wait = Math.min(Math.max(args.yield_time_ms, WRITE_WAIT_MS), MAX_WAIT_MS);
    try {
      return await this.#answer(id, command, wait, args.max_output_tokens, signal);
    } catch (error) {
      // The agent has no id of a command whose first call was given up.
      this.#commands.delete(id);
      await child.kill().catch(() => {});
      throw error;
    }
  }

  async write(args: WriteArgs, signal: AbortSignal): Promise<ToolResult> {
    const command = this.#commands.get(args.session_id);
    if (command === undefined) {
      const live = [...this.#commands.keys()].join(', ');
      const others = live === '' ? 'no command runs' : `there are ${live}`;
      throw new ToolError(`Unknown session id ${args.session_id}: ${others}. Start one with exec_command.`);
    }
    const isPoll = args.chars === '';
    if (!isPoll) await command.write(args.chars);
    const given = args.yield_time_ms ?? (isPoll ? POLL_WAIT_MS : WRITE_WAIT_MS);
    const wait = isPoll
      ? Math.min(Math.max(given, POLL_WAIT_MS), MAX_POLL_MS)
      : Math.min(Math.max(given, WRITE_WAIT_MS), MAX_WAIT_MS);
    return await this.#answer(args.session_id, command, wait, args.max_output_tokens, signal);
  }

  async #spawn(line: readonly string[], { tty, workdir }: StartArgs): Promise<SandboxProcess> {
    const cwd = workdir === undefined ? {} : { cwd: workdir };
    try {
      return await this.#sandbox.spawn(line, { ...cwd, ...(tty ? { pty: true } : {}), env: { TERM: 'dumb' } });
    } catch (error) {
      // An engine refuses an unknown folder, and a terminal that it does not have, in words.
      if (error instanceof RangeError) throw new ToolError(error.message, { cause: error });
      throw error;
    }
  }

  #makeRoom(): void {
    if (this.#commands.size < MAX_SESSIONS) return;
    for (const [id, command] of this.#commands) {
      if (command.exit === undefined) continue;
      this.#commands.delete(id);
      return;
    }
    const live = [...this.#commands.keys()].join(', ');
    throw new ToolError(`${MAX_SESSIONS} commands run already (${live}): end one with write_stdin first.`);
  }

  async #answer(id: number, command: Command, waitMs: number, most: number, signal: AbortSignal): Promise<ToolResult> {
    const startedAt = performance.now();
    await command.settle(waitMs, signal);
    const { text, bytes } = command.takeOutput(Math.min(most * BYTES_PER_TOKEN, MAX_SHOWN_OUTPUT));
    const { exit } = command;
    if (exit !== undefined) this.#commands.delete(id);
    const outOfMemory = exit !== undefined && mayLackMemory(exit.exitCode) && (await ranOutOfMemory(this.#sandbox));
    const output: CommandOutput = {
      exitCode: exit?.exitCode ?? null,
      output: text.text,
      truncated: text.omitted > 0,
      omittedBytes: text.omitted,
      timedOut: false,
      outOfMemory,
      durationMs: Math.round(performance.now() - startedAt),
      ...(exit === undefined ? { sessionId: id } : {}),
    };
    const lines = [
      `Wall time: ${(output.durationMs / 1000).toFixed(1)} seconds`,
      exit === undefined
        ? `Process running with session ID ${id}`
        : `Process exited with code ${exit.exitCode ?? 'unknown'}`,
      ...(text.omitted > 0 ? [`Original token count: ${Math.ceil(bytes / BYTES_PER_TOKEN)}`] : []),
      ...(outOfMemory ? [MEMORY_TEXT] : []),
      'Output:',
      text.text,
    ];
    return textResult(lines.join('\n'), toStructured(output));
  }
}

class Command {
  readonly #child: SandboxProcess;
  readonly #isTerminal: boolean;
  readonly #ended: Promise<void>;
  #window = newWindow();
  #bytes = 0;
  exit: { readonly exitCode: number | null } | undefined;

  constructor(child: SandboxProcess, isTerminal: boolean) {
    this.#child = child;
    this.#isTerminal = isTerminal;
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => {});
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#bytes += chunk.length;
        this.#window.write(chunk);
      });
    }
    this.#ended = child.exited.then(
      ({ exitCode }) => {
        this.exit = { exitCode };
      },
      () => {
        this.exit = { exitCode: null };
      },
    );
  }

  /** Without a terminal there is nobody to turn Ctrl-C into a signal. */
  async write(chars: string): Promise<void> {
    if (this.exit !== undefined) return;
    if (this.#isTerminal || !chars.includes('\u0003')) return void this.#child.stdin.write(chars);
    await this.#child.kill('SIGINT');
  }

  async settle(waitMs: number, signal: AbortSignal): Promise<void> {
    await endsWithin(this.#ended, waitMs, signal);
  }

  /** The output since the last time: as much as is wanted, of its beginning and its end. */
  takeOutput(mostBytes: number) {
    const window = this.#window;
    const bytes = this.#bytes;
    this.#window = newWindow();
    this.#bytes = 0;
    const whole = window.text();
    const plain = this.#isTerminal ? withoutTerminalSequences(whole).replaceAll('\r\n', '\n') : whole;
    if (Buffer.byteLength(plain) <= mostBytes) return { text: { text: plain, omitted: window.omitted }, bytes };
    const narrow = new OutputWindow(Math.ceil(mostBytes / 2), Math.floor(mostBytes / 2));
    narrow.write(Buffer.from(plain));
    return { text: { text: narrow.text(), omitted: narrow.omitted + window.omitted }, bytes };
  }
}

function newWindow(): OutputWindow {
  return new OutputWindow(MAX_SHOWN_OUTPUT / 2, MAX_SHOWN_OUTPUT / 2);
}
