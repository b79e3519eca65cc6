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

/** Milliseconds to put back what a patch that failed has written. */
const PUT_BACK_MS = 30_000;

/** A line of the result: a file that was added, changed or removed. */
interface Listed {
  readonly mark: 'A' | 'M' | 'D';
  readonly path: string;
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
          const lines = writes.map(({ mark, path }) => `${mark} ${path}`);
          return `Success. Updated the following files:\n${lines.join('\n')}\n`;
        },
      );
    },
  };
}

/** A file as the patch leaves it. Undefined: it is removed. */
type Target = { readonly text: string; readonly mode: number | undefined } | undefined;

/** Checks all steps, and then writes all files. */
async function apply(files: TextFiles, steps: readonly PatchStep[], signal: AbortSignal): Promise<readonly Listed[]> {
  const changed = new Map<string, Target>();
  const listed: Listed[] = [];
  for (const step of steps) {
    const { path } = step;
    const known = changed.has(path) ? changed.get(path) : await readTarget(files, path, signal);
    if (step.kind === 'add') {
      if (known !== undefined) throw new ToolError(`Failed to add ${path}: it exists already. Use '*** Update File:'`);
      changed.set(path, { text: step.lines.map((line) => `${line}\n`).join(''), mode: undefined });
      listed.push({ mark: 'A', path });
      continue;
    }
    if (known === undefined) throw new ToolError(`Failed to ${step.kind} ${path}: there is no such file`);
    if (step.kind === 'delete') {
      changed.set(path, undefined);
      listed.push({ mark: 'D', path });
      continue;
    }
    const before = changed.has(path) ? known.text : await files.read(path, signal);
    const target = step.moveTo ?? path;
    if (target !== path) {
      const there = changed.has(target) ? changed.get(target) : await files.stat(target, signal);
      if (there !== undefined) throw new ToolError(`Failed to move ${path}: ${target} exists already`);
      changed.set(path, undefined);
    }
    changed.set(target, { text: applyHunks(path, before, step.hunks), mode: known.mode });
    listed.push({ mark: 'M', path: target });
  }
  await writeAll(files, changed, signal);
  return listed;
}

/** A file as it is, without its text. @throws ToolError for a folder. */
async function readTarget(files: TextFiles, path: string, signal: AbortSignal): Promise<Target> {
  const entry = await files.stat(path, signal);
  if (entry?.type === 'folder') throw new ToolError(`${path} is a directory, and patches change files`);
  return entry && { text: '', mode: entry.mode };
}

/** Writes files, then removes files, so that a moved file is there all the time. A failure puts back what was written. */
async function writeAll(files: TextFiles, changed: ReadonlyMap<string, Target>, signal: AbortSignal): Promise<void> {
  const written: [string, Target][] = [];
  try {
    for (const [path, target] of changed) {
      if (target === undefined) continue;
      const entry = await files.stat(path, signal);
      const before = entry && { text: await files.read(path, signal), mode: entry.mode };
      await files.write(path, target.text, signal, target.mode);
      written.push([path, before]);
    }
  } catch (error) {
    const limit = AbortSignal.timeout(PUT_BACK_MS); // The call itself may have been cancelled.
    for (const [path, before] of written.reverse()) {
      await (before ? files.write(path, before.text, limit, before.mode) : files.remove(path, limit));
    }
    throw error;
  }
  for (const [path, target] of changed) if (target === undefined) await files.remove(path, signal);
}
