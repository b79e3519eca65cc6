import { z } from 'zod';
import { asFinished } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { ExecResult, Sandbox } from '../sandbox/sandbox.ts';
import { checkText } from './bash.ts';
import { COMMAND_MS, LONGEST_COMMAND_MS, SHOWN_BYTES } from './command-output.ts';
import { nativeMeta } from './native.ts';
import { QUIET_VARIABLES } from './persistent-shell.ts';

const LONGEST_OUTPUT_BYTES = 1024 * 1024;

/**
 * The tool `shell`: runs a list of commands, each in a new shell, and gives standard output, standard error and the end
 * of each. Names and arguments are those of OpenAI's `shell`. A command that runs out of time does not stop the others.
 */
export function shell(sandbox: Sandbox, { timeoutMs = COMMAND_MS }: { readonly timeoutMs?: number } = {}): ToolSet {
  return {
    role: 'shell',
    addTo(env) {
      env.tool(
        'shell',
        {
          description: 'Runs commands one after another, each in a new shell, without input.',
          args: {
            commands: z.array(z.string().min(1)).min(1).max(64).describe('The commands.'),
            timeout_ms: z.int().min(1).max(LONGEST_COMMAND_MS).default(timeoutMs).describe('Of each command.'),
            max_output_length: z
              .int()
              .min(1)
              .max(LONGEST_OUTPUT_BYTES)
              .default(SHOWN_BYTES)
              .describe('Bytes of each output.'),
          },
          annotations: { destructiveHint: true, openWorldHint: false },
          meta: nativeMeta('shell', { openai: 'shell' }),
        },
        async ({ commands, timeout_ms, max_output_length }, { signal }) => {
          const output = [];
          for (const command of commands) {
            const options = { timeoutMs: timeout_ms, maxOutputBytes: max_output_length, env: QUIET_VARIABLES, signal };
            output.push(toEntry(await sandbox.exec(checkText(command), options)));
          }
          const entries = { output, max_output_length };
          return asFinished({ content: [{ type: 'text', text: JSON.stringify(entries) }], structuredContent: entries });
        },
      );
    },
  };
}

function toEntry({ stdout, stderr, exitCode, timedOut, omittedBytes, outOfMemory, durationMs }: ExecResult) {
  return {
    stdout,
    stderr,
    outcome: timedOut ? { type: 'timeout' } : { type: 'exit', exit_code: exitCode },
    truncated: omittedBytes > 0,
    omitted_bytes: omittedBytes,
    ...(outOfMemory && { out_of_memory: true }),
    duration_ms: durationMs,
  };
}
