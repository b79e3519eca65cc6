import { z } from 'zod';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { checkText } from './bash.ts';
import { toCommandResult } from './command-output.ts';
import { ExecSessions } from './exec-sessions.ts';

const yieldTime = (least: number, usual: number, most: number) =>
  z.int().min(1).max(600_000).default(usual).describe(`Milliseconds to wait for output, ${least} to ${most}.`);
const maxTokens = z.int().min(1).default(10_000).describe('Of the output that is shown; more is cut in the middle.');
const [LEAST_MS, MOST_MS, LONGEST_POLL_MS] = [250, 30_000, 300_000];
const LEAST_POLL_MS = 5_000;

/**
 * The tools `exec_command` and `write_stdin`: run commands that may go on, in a terminal or without one. Names and
 * arguments are those of Codex. At most 16 commands run at once.
 */
export function exec(sandbox: Sandbox): ToolSet {
  return {
    role: 'shell',
    addTo(env) {
      const sessions = new ExecSessions(sandbox);
      const annotations = { destructiveHint: true, openWorldHint: false };
      env.tool(
        'exec_command',
        {
          description:
            'Runs a command. One that still runs after the wait goes on, and the result has its session_id for write_stdin.',
          args: {
            cmd: z.string().min(1).describe('The command.'),
            workdir: z.string().min(1).optional().describe('The folder. Default: the working folder.'),
            shell: z.string().min(1).optional().describe('The shell. Default: bash, or sh where there is none.'),
            login: z.boolean().default(false).describe('True: the shell reads the files of a login.'),
            tty: z
              .boolean()
              .default(false)
              .describe('True: a terminal, which takes input. Without one there is no input.'),
            yield_time_ms: yieldTime(LEAST_MS, 10_000, MOST_MS),
            max_output_tokens: maxTokens,
          },
          annotations,
        },
        async ({ cmd, yield_time_ms, max_output_tokens, ...options }, { signal }) => {
          const id = await sessions.start(checkText(cmd), options, signal);
          const ms = within(yield_time_ms, LEAST_MS, MOST_MS);
          return toCommandResult(await sessions.wait(id, ms, max_output_tokens, signal));
        },
      );
      env.tool(
        'write_stdin',
        {
          description: 'Writes to a command that runs in a terminal, or waits for its output. \\u0003 interrupts it.',
          args: {
            session_id: z.int().describe('The session_id of exec_command.'),
            chars: z.string().default('').describe('The input. Empty: waits.'),
            yield_time_ms: yieldTime(LEAST_MS, LEAST_MS, LONGEST_POLL_MS),
            max_output_tokens: maxTokens,
          },
          annotations,
        },
        async ({ session_id, chars, yield_time_ms, max_output_tokens }, { signal }) => {
          await sessions.write(session_id, chars);
          const ms =
            chars === ''
              ? within(yield_time_ms, LEAST_POLL_MS, LONGEST_POLL_MS)
              : within(yield_time_ms, LEAST_MS, MOST_MS);
          return toCommandResult(await sessions.wait(session_id, ms, max_output_tokens, signal));
        },
      );
    },
  };
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
