import { z } from 'zod';
import type { JsonObject } from '../../contract/json.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { withoutNul } from './bash.ts';
import { nativeMeta } from './native.ts';
import {
  COMMAND_MS,
  describeOutput,
  MAX_COMMAND_MS,
  MAX_SHOWN_OUTPUT,
  textResult,
  toCommandOutput,
  toStructured,
} from './tool-output.ts';

const MAX_COMMANDS = 32;
const DESCRIPTION =
  'Runs commands one after the other, each in a new sh. Folder and variables of one are gone for the next. A command that fails or runs out of time does not stop the others.';

/** Adds `shell`: a list of commands, with the outputs and the outcome of each. */
export function shell(sandbox: Sandbox): ToolSet {
  return {
    role: 'shell',
    addTo(env) {
      const args = {
        commands: z.array(z.string().min(1)).min(1).max(MAX_COMMANDS).describe('The commands, in order.'),
        timeout_ms: z.int().min(1).max(MAX_COMMAND_MS).default(COMMAND_MS).describe('Milliseconds for each command.'),
        max_output_length: z
          .int()
          .min(1)
          .max(MAX_SHOWN_OUTPUT)
          .default(MAX_SHOWN_OUTPUT)
          .describe('Bytes that are kept of each output.'),
      };
      const meta = nativeMeta({ role: 'shell', openai: 'shell' });
      env.tool('shell', { description: DESCRIPTION, args, meta }, async (given, { signal }) => {
        const done: { readonly text: string; readonly record: JsonObject }[] = [];
        for (const command of given.commands) {
          const options = { signal, timeoutMs: given.timeout_ms, maxOutputBytes: given.max_output_length };
          const result = await sandbox.exec(['sh', '-c', withoutNul(command)], options);
          const { stdout, stderr, timedOut, exitCode } = result;
          const output = { ...toCommandOutput(result), stdout, stderr };
          const outcome = timedOut ? { type: 'timeout' } : { type: 'exit', exit_code: exitCode };
          const ending = timedOut ? `\n[timed out after ${given.timeout_ms / 1000} seconds]` : '';
          const text = `$ ${command}\n${describeOutput(output)}${ending}`;
          done.push({ text, record: { ...toStructured(output), outcome } });
        }
        const { max_output_length } = given;
        const output = done.map(({ record }) => record);
        return textResult(done.map(({ text }) => text).join('\n'), { max_output_length, output });
      });
    },
  };
}
