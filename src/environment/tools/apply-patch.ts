import { z } from 'zod';
import { ToolError } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { applyHunks } from './apply-hunks.ts';
import { TextFiles } from './file-turns.ts';
import { nativeMeta } from './native.ts';
import { type PatchStep, parsePatch } from './parse-patch.ts';

const DESCRIPTION = [
  'Changes files by a patch: `*** Begin Patch`, then for each file `*** Add File: path` with `+` lines,',
  '`*** Delete File: path`, or `*** Update File: path` (and `*** Move to: path`) with hunks of `@@` and lines that begin',
  'with a blank, `-` or `+`, then `*** End Patch`. Paths are relative to the working folder. If a part does not fit, nothing is changed.',
].join(' ');

/** The change of one file, after all of the patch has been checked. */
interface Write {
  readonly mark: 'A' | 'M' | 'D';
  readonly path: string;
  /** Undefined: the file is removed. */
  readonly text: string | undefined;
}

/** The tool `apply_patch`: makes, changes, moves and removes text files by a patch in OpenAI's format V4A. */
export function applyPatch(sandbox: Sandbox): ToolSet {
  return {
    role: 'patch',
    addTo(env) {
      env.tool(
        'apply_patch',
        {
          description: DESCRIPTION,
          args: { input: z.string().min(1).describe('The patch.') },
          annotations: { destructiveHint: true, openWorldHint: false },
          meta: nativeMeta('patch', { openai: 'apply_patch' }),
        },
        async ({ input }, { signal }) => {
          const steps = parsePatch(input);
          const files = TextFiles.of(sandbox);
          const paths = steps.flatMap((step) =>
            step.kind === 'update' && step.moveTo ? [step.path, step.moveTo] : [step.path],
          );
          const writes = await files.inTurn(paths, () => apply(files, steps, signal));
          const lines = writes.filter(({ mark }) => mark !== undefined).map(({ mark, path }) => `${mark} ${path}`);
          return `Success. Updated the following files:\n${lines.join('\n')}\n`;
        },
      );
    },
  };
}

/** Checks all steps, and then writes all files. */
async function apply(files: TextFiles, steps: readonly PatchStep[], signal: AbortSignal) {
  const changed = new Map<string, string | undefined>();
  const isThere = async (path: string) =>
    changed.has(path) ? changed.get(path) !== undefined : (await files.stat(path, signal)) !== undefined;
  const listed: { readonly mark: Write['mark']; readonly path: string }[] = [];
  for (const step of steps) {
    const { path } = step;
    if (step.kind === 'add') {
      if (await isThere(path)) throw new ToolError(`Failed to add ${path}: it exists already. Use '*** Update File:'`);
      changed.set(path, step.lines.length === 0 ? '' : `${step.lines.join('\n')}\n`);
      listed.push({ mark: 'A', path });
      continue;
    }
    if (!(await isThere(path))) throw new ToolError(`Failed to ${step.kind} ${path}: there is no such file`);
    if (step.kind === 'delete') {
      changed.set(path, undefined);
      listed.push({ mark: 'D', path });
      continue;
    }
    const text = applyHunks(path, changed.get(path) ?? (await files.read(path, signal)), step.hunks);
    const target = step.moveTo ?? path;
    if (target !== path) {
      if (await isThere(target)) throw new ToolError(`Failed to move ${path}: ${target} exists already`);
      changed.set(path, undefined);
    }
    changed.set(target, text);
    listed.push({ mark: 'M', path: target });
  }
  for (const [path, text] of changed) {
    if (text === undefined) await files.remove(path, signal);
    else await files.write(path, text, signal);
  }
  return listed;
}
