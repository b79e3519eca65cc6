import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { COMMAND_MS, commandResult, MAX_SHOWN_OUTPUT, timeoutText, toCommandOutput } from './tool-output.ts';

/** Exit code of the wrapper where there is no Python. A program of the agent that ends so prints something else. */
const NO_PYTHON = '[no python3]';
const RUN = `if command -v python3 >/dev/null 2>&1; then exec python3 - 2>&1; else echo '${NO_PYTHON}'; exit 127; fi`;
const DESCRIPTION = `Runs Python code in a new python3 process. Only what it prints is shown; variables are gone for the next call. Of more than ${MAX_SHOWN_OUTPUT} bytes, the beginning and the end are shown.`;

export interface PythonOptions {
  /** Limit of a call in milliseconds. Default 120,000. */
  readonly timeoutMs?: number;
}

/** Adds `python`: each call is a new `python3`. */
export function python(sandbox: Sandbox, { timeoutMs = COMMAND_MS }: PythonOptions = {}): ToolSet {
  return {
    addTo(env) {
      const args = { code: z.string().describe('The code. Print what you want to see.') };
      env.tool('python', { description: DESCRIPTION, args }, async ({ code }, { signal }) => {
        const options = { stdin: code, signal, timeoutMs, maxOutputBytes: MAX_SHOWN_OUTPUT };
        const result = toCommandOutput(await sandbox.exec(['sh', '-c', RUN], options));
        if (result.exitCode === 127 && result.output.trim() === NO_PYTHON) {
          throw new ToolError('There is no python3 on this computer: the code was not run. Use another tool.');
        }
        const ended = 'It was ended with all that it started.';
        return commandResult(result, result.timedOut ? timeoutText(result.output, timeoutMs, ended) : undefined);
      });
    },
  };
}
