import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { runMerged } from './bash.ts';
import { COMMAND_MS, LONGEST_COMMAND_MS, toCommandResult } from './command-output.ts';

/** Tells an image without Python from a program that exits with the same code. */
const NO_PYTHON = 'proctor: no python3';
const RUN = `exec 2>&1; command -v python3 >/dev/null 2>&1 || { echo '${NO_PYTHON}'; exit 127; }; exec python3 -`;

/** The tool `python`: runs a program with `python3` in a new process, without input. */
export function python(sandbox: Sandbox, { timeoutMs = COMMAND_MS }: { readonly timeoutMs?: number } = {}): ToolSet {
  return {
    addTo(env) {
      env.tool(
        'python',
        {
          description: 'Runs a Python program in a new process and gives its output. Only what it prints is shown.',
          args: {
            code: z.string().min(1).describe('The program.'),
            timeout_ms: z.int().min(1).max(LONGEST_COMMAND_MS).default(timeoutMs).describe('Milliseconds.'),
          },
          annotations: { destructiveHint: true, openWorldHint: false },
        },
        async ({ code, timeout_ms }, { signal }) => {
          const result = await runMerged(sandbox, ['sh', '-c', RUN], { timeoutMs: timeout_ms, signal, stdin: code });
          if (result.exitCode === 127 && result.output.trim() === NO_PYTHON) {
            throw new ToolError('This sandbox has no python3: use another tool, or an image that has it.');
          }
          return toCommandResult(result);
        },
      );
    },
  };
}
