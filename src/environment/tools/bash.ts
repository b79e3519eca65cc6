import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { COMMAND_MS, LONGEST_COMMAND_MS, SHOWN_BYTES, toCommandResult } from './command-output.ts';
import { nativeMeta } from './native.ts';
import { PersistentShell, QUIET_VARIABLES } from './persistent-shell.ts';

export interface BashOptions {
  /** True: each command runs in a new shell, and no folder or variable is kept. Default false: one shell. */
  readonly fresh?: boolean;
  /** Default limit of a command in milliseconds, up to 600,000. Default 120,000. */
  readonly timeoutMs?: number;
}

const LIMITS = `Of a long output, the first and last ${SHOWN_BYTES / 2_000} kB are shown.`;

/**
 * The tool `bash`: runs shell commands in a sandbox, with `bash` where the image has it and `sh` elsewhere. Names and
 * arguments are those of Anthropic's `bash_20250124`.
 *
 * @example
 * ```ts
 * const box = this.sandbox({ image: 'node:22-slim' });
 * this.use(bash(box), editor(box));
 * ```
 */
export function bash(sandbox: Sandbox, { fresh = false, timeoutMs = COMMAND_MS }: BashOptions = {}): ToolSet {
  const limit = z.int().min(1).max(LONGEST_COMMAND_MS).default(timeoutMs).describe('Milliseconds.');
  const annotations = { destructiveHint: true, openWorldHint: false };
  const meta = nativeMeta('shell', { anthropic: 'bash_20250124' });
  return {
    role: 'shell',
    addTo(env) {
      if (fresh) {
        env.tool(
          'bash',
          {
            description: `Runs a shell command. Each call has a new shell: no folder and no variable is kept. ${LIMITS}`,
            args: { command: z.string().min(1).describe('The command.'), timeout_ms: limit },
            annotations,
          },
          async ({ command, timeout_ms }, { signal }) =>
            toCommandResult(await runFresh(sandbox, command, timeout_ms, signal)),
        );
        return;
      }
      const shell = new PersistentShell(sandbox);
      env.tool(
        'bash',
        {
          description: `Runs a command in a shell (bash, or sh where there is none) that keeps its folder and variables. Commands have no input. ${LIMITS}`,
          args: {
            command: z.string().optional().describe('The command.'),
            restart: z.boolean().optional().describe('True: ends the shell with all that runs in it.'),
            timeout_ms: limit,
          },
          annotations,
          meta,
        },
        async ({ command, restart, timeout_ms }, { signal }) => {
          if (restart === true) {
            await shell.restart();
            return 'tool has been restarted.';
          }
          if (command === undefined || command === '') throw new ToolError('no command provided.');
          return toCommandResult(await shell.run(checkText(command), timeout_ms, signal));
        },
      );
    },
  };
}

/** @throws ToolError for a command that no shell can read. */
export function checkText(command: string): string {
  if (command.includes('\0')) throw new ToolError('The command has a NUL character, which no shell can read.');
  return command;
}

/** Both outputs in one stream, so that their order is kept. */
const MERGED = 'exec 2>&1; command -v bash >/dev/null 2>&1 && exec bash --noprofile --norc -c "$0"; exec sh -c "$0"';

async function runFresh(sandbox: Sandbox, command: string, timeoutMs: number, signal: AbortSignal) {
  return await runMerged(sandbox, ['sh', '-c', MERGED, checkText(command)], { timeoutMs, signal });
}

/** Runs a program to its end, for a tool whose output is one text. */
export async function runMerged(
  sandbox: Sandbox,
  command: readonly string[],
  options: { readonly timeoutMs: number; readonly signal: AbortSignal; readonly stdin?: string },
) {
  const result = await sandbox.exec(command, { ...options, env: QUIET_VARIABLES, maxOutputBytes: SHOWN_BYTES });
  const notes = result.timedOut ? [`timed out: it has not returned in ${options.timeoutMs / 1_000} seconds.`] : [];
  const memory = result.outOfMemory ? ['The command ran out of the memory of its sandbox.'] : [];
  return {
    exitCode: result.timedOut ? null : result.exitCode,
    // Both are in one stream; what is apart comes from a program that could not start.
    output: result.stdout + result.stderr,
    omittedBytes: result.omittedBytes,
    timedOut: result.timedOut,
    durationMs: result.durationMs,
    notes: [...notes, ...memory],
  };
}
