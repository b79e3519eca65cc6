import { z } from 'zod';
import type { Session } from '../authoring/definition.ts';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { nativeMeta } from './native.ts';
import { type ShellResult, ShellSession } from './shell-session.ts';
import {
  COMMAND_MS,
  type CommandOutput,
  commandResult,
  describeOutput,
  MAX_COMMAND_MS,
  MAX_SHOWN_OUTPUT,
  mayLackMemory,
  ranOutOfMemory,
  textResult,
  timeoutText,
  toCommandOutput,
} from './tool-output.ts';

export interface BashOptions {
  /** True: each command gets a new shell, and `restart` and `timeout_ms` are gone. Default false. */
  readonly fresh?: boolean;
  /** Limit of a command in milliseconds. Default 120,000; a call may ask for up to 600,000. */
  readonly timeoutMs?: number;
}

const META = nativeMeta({ role: 'shell', anthropic: 'bash_20250124' });
const RESTARTED = 'The shell was restarted: its folder, variables and background processes are gone.';
const OUTPUT_NOTE = `Of more than ${MAX_SHOWN_OUTPUT} bytes of output, the beginning and the end are shown. Standard input is empty.`;
const DESCRIPTION = `Runs a command in a bash shell that stays open: its folder, variables and background processes are there for the next call. Where the computer has no bash, the shell is sh. ${OUTPUT_NOTE}`;
const FRESH_DESCRIPTION = `Runs a command in a new bash shell (sh where the computer has no bash). The folder and the variables that a command sets are gone for the next one. ${OUTPUT_NOTE}`;
/** The command is an argument, so that its quotes and here-documents stay as they are. */
const FRESH =
  'exec 2>&1; if command -v bash >/dev/null 2>&1; then exec bash --noprofile --norc -c "$1"; else exec sh -c "$1"; fi';

const timeoutSchema = z.int().min(1).max(MAX_COMMAND_MS).optional();

/** Adds `bash`: a shell that stays open for the session, or a new one for each command. */
export function bash(sandbox: Sandbox, { fresh = false, timeoutMs = COMMAND_MS }: BashOptions = {}): ToolSet {
  if (fresh) return freshBash(sandbox, timeoutMs);
  return {
    role: 'shell',
    addTo(env) {
      const shells = new Shells(sandbox);
      const args = {
        command: z.string().optional().describe('The command to run. Required unless the tool is restarted.'),
        restart: z.boolean().optional().describe('True ends the shell and starts a new one.'),
        timeout_ms: timeoutSchema.describe(`Milliseconds for the command, ${timeoutMs} by default.`),
      };
      env.tool('bash', { description: DESCRIPTION, args, meta: META }, (given, { session, signal }) =>
        shells.call(session, given, given.timeout_ms ?? timeoutMs, signal),
      );
    },
  };
}

function freshBash(sandbox: Sandbox, timeoutMs: number): ToolSet {
  return {
    role: 'shell',
    addTo(env) {
      const args = { command: z.string().min(1).describe('The command to run.') };
      env.tool('bash', { description: FRESH_DESCRIPTION, args }, async ({ command }, { signal }) => {
        const options = { signal, timeoutMs, maxOutputBytes: MAX_SHOWN_OUTPUT };
        const result = toCommandOutput(await sandbox.exec(['sh', '-c', FRESH, 'sh', withoutNul(command)], options));
        const text = result.timedOut
          ? timeoutText(result.output, timeoutMs, 'It was ended with all that it started.')
          : undefined;
        return commandResult(result, text);
      });
    },
  };
}

/** The shell of a session, and the line in which its calls stand: one command runs at a time. */
interface Held {
  line: Promise<unknown>;
  shell: ShellSession | undefined;
}

class Shells {
  readonly #sandbox: Sandbox;
  readonly #held = new WeakMap<Session, Held>();

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  async call(
    session: Session,
    { command, restart }: { readonly command?: string | undefined; readonly restart?: boolean | undefined },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const held = this.#held.get(session) ?? { line: Promise.resolve(), shell: undefined };
    this.#held.set(session, held);
    const work = async () => {
      signal.throwIfAborted();
      if (restart === true) return await this.#restart(held);
      if (command === undefined || command.trim() === '') throw new ToolError('no command provided.');
      return await this.#run(held, withoutNul(command), timeoutMs, signal);
    };
    const turn = held.line.then(work);
    held.line = turn.catch(() => {});
    return await turn;
  }

  async #restart(held: Held): Promise<ToolResult> {
    const { shell } = held;
    held.shell = undefined;
    await shell?.end();
    return textResult('tool has been restarted.');
  }

  async #run(held: Held, command: string, timeoutMs: number, signal: AbortSignal): Promise<ToolResult> {
    // A process of an earlier call may have ended the shell since then.
    const wasLost = held.shell?.hasEnded === true;
    if (held.shell === undefined || wasLost) held.shell = await ShellSession.start(this.#sandbox);
    const { shell } = held;
    let result: ShellResult;
    try {
      result = await shell.run(command, timeoutMs, signal);
    } finally {
      if (shell.hasEnded || signal.aborted) held.shell = undefined;
    }
    const output = await this.#toOutput(result, signal);
    if (result.kind === 'timeout') return commandResult(output, timeoutText(output.output, timeoutMs, RESTARTED));
    const note = wasLost ? `[The shell had ended since the last call. ${RESTARTED}]\n` : '';
    if (result.kind === 'done') return commandResult(output, `${note}${describeOutput(output)}`);
    const before = describeOutput({ ...output, exitCode: null });
    const text = `${note}${before === '(no output)' ? '' : `${before}\n`}bash has exited with returncode ${output.exitCode ?? 'unknown'}. ${RESTARTED}`;
    return commandResult(output, text);
  }

  async #toOutput(result: ShellResult, _signal: AbortSignal): Promise<CommandOutput> {
    const timedOut = result.kind === 'timeout';
    const exitCode = timedOut ? null : result.exitCode;
    const mayBeMemory = !timedOut && mayLackMemory(exitCode);
    return {
      exitCode,
      output: result.output,
      truncated: result.omittedBytes > 0,
      omittedBytes: result.omittedBytes,
      timedOut,
      outOfMemory: mayBeMemory && (await ranOutOfMemory(this.#sandbox)),
      background: result.kind === 'done' ? result.background : [],
      durationMs: result.durationMs,
    };
  }
}

/** No program can get a NUL character in an argument. @throws ToolError that says so. */
export function withoutNul(text: string): string {
  if (text.includes('\0')) throw new ToolError('The command has a NUL character, which no program can be given.');
  return text;
}
