import { z } from 'zod';
import type { EnvironmentServer } from '../authoring/environment-server.ts';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { TextFiles } from './file-turns.ts';
import { addSearchTools } from './search.ts';
import { inLineBreaksOf, numbered, separateOccurrences } from './text-edits.ts';

const MAX_READ_BYTES = 256 * 1024;
const filePath = z.string().min(1).describe('A path in the working folder.');

/**
 * The tools `read`, `write`, `edit`, `glob` and `grep` over the working folder of a sandbox. Paths outside of it, and
 * paths through links, are refused. `glob` gives paths in their order.
 */
export function files(sandbox: Sandbox): ToolSet {
  return {
    role: 'files',
    addTo(env) {
      addFileTools(env, sandbox);
      addSearchTools(env, sandbox);
    },
  };
}

function addFileTools(env: EnvironmentServer, sandbox: Sandbox): void {
  const texts = TextFiles.of(sandbox);
  env.tool(
    'read',
    {
      description: `Reads a text file, up to ${MAX_READ_BYTES / 1024} KiB, with line numbers.`,
      args: {
        file_path: filePath,
        view_range: z.array(z.int()).length(2).optional().describe('First and last line, from 1 on; -1 is the end.'),
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
    async ({ file_path, view_range }, { signal }) => {
      const text = await texts.read(texts.confined(file_path), signal);
      const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
      const [first = 1, last = -1] = view_range ?? [];
      const end = last === -1 ? lines.length : last;
      if (first < 1 || first > lines.length || end < first) {
        throw new ToolError(
          `read: view_range [${first}, ${last}] is not within the ${lines.length} lines of ${file_path}`,
        );
      }
      const shown = lines.slice(first - 1, end).join('\n');
      if (Buffer.byteLength(shown) > MAX_READ_BYTES) {
        throw new ToolError(`read: ${file_path} is larger than ${MAX_READ_BYTES} bytes; read a part with view_range`);
      }
      return text === '' ? '(empty file)' : numbered(shown, first, MAX_READ_BYTES);
    },
  );
  env.tool(
    'write',
    {
      description: 'Writes a text file and makes its folders. A file that exists is replaced.',
      args: { file_path: filePath, content: z.string().describe('The whole content.') },
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    },
    async ({ file_path, content }, { signal }) => {
      const path = texts.confined(file_path);
      await texts.inTurn([path], () => texts.write(path, content, signal));
      return `wrote ${Buffer.byteLength(content)} bytes to ${file_path}`;
    },
  );
  env.tool(
    'edit',
    {
      description: 'Replaces a text in a file. It has to be there exactly once, unless replace_all is true.',
      args: {
        file_path: filePath,
        old_string: z.string().min(1).describe('The text to replace.'),
        new_string: z.string().describe('The text in its place.'),
        replace_all: z.boolean().default(false).describe('True: replaces every occurrence.'),
      },
      annotations: { destructiveHint: true, openWorldHint: false },
    },
    async ({ file_path, old_string, new_string, replace_all }, { signal }) => {
      const path = texts.confined(file_path);
      return await texts.inTurn([path], async () => {
        const text = await texts.read(path, signal);
        const oldText = text.includes(old_string) ? old_string : inLineBreaksOf(text, old_string);
        const count = separateOccurrences(text, oldText);
        if (count === 0) throw new ToolError(`edit: old_string not found in ${file_path}`);
        if (count > 1 && !replace_all) {
          throw new ToolError(`edit: old_string appears ${count} times in ${file_path} (must be unique)`);
        }
        await texts.write(path, text.split(oldText).join(inLineBreaksOf(text, new_string)), signal);
        return `edited ${file_path} (${count} replacement(s))`;
      });
    },
  );
}
