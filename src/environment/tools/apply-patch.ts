import { z } from 'zod';
import { ToolError, type ToolResult } from '../authoring/tool-result.ts';
import type { ToolSet } from '../authoring/tool-set.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { nativeMeta } from './native.ts';
import { TextFiles } from './text-files.ts';
import { textResult } from './tool-output.ts';
import { applyHunks, type FilePatch, PatchError, parsePatch } from './v4a.ts';

const DESCRIPTION = `Changes files by a patch. All of it is checked before anything is written: if a part does not fit, nothing is changed. Paths are relative. The form:
*** Begin Patch
*** Add File: new.txt
+a line of the new file
*** Update File: src/main.js
*** Move to: src/start.js
@@ function main() {
 a line of context
-a removed line
+an added line
*** Delete File: old.txt
*** End Patch
Give 3 lines of context around a change. \`@@\` and a line before it, such as a function's head, narrow the place down. \`*** Move to\` and \`*** End of File\` are optional.`;

/** Adds `apply_patch`, which takes patches in the format V4A. */
export function applyPatch(sandbox: Sandbox): ToolSet {
  return {
    role: 'patch',
    addTo(env) {
      const files = new TextFiles(sandbox, { root: sandbox.workdir });
      const args = { input: z.string().describe('The whole patch, from "*** Begin Patch" to "*** End Patch".') };
      const meta = nativeMeta({ role: 'patch', openai: 'apply_patch' });
      env.tool('apply_patch', { description: DESCRIPTION, args, meta }, async ({ input }, { signal }) => {
        try {
          return await apply(files, parsePatch(input), signal);
        } catch (error) {
          if (error instanceof PatchError) throw new ToolError(error.message);
          throw error;
        }
      });
    },
  };
}

/** A file after the patch: its text, or undefined if it is gone. */
interface Outcome {
  readonly given: string;
  readonly text: string | undefined;
  /** Mode of a file that was moved here. */
  readonly mode?: number | undefined;
}

async function apply(files: TextFiles, patches: readonly FilePatch[], signal: AbortSignal): Promise<ToolResult> {
  const given = patches.flatMap((patch) => [patch.path, ...(patch.kind === 'update' ? (patch.movedTo ?? []) : [])]);
  for (const path of given) {
    if (path === '' || path.startsWith('/')) throw new PatchError(`The path '${path}' has to be relative.`);
  }
  const real: string[] = [];
  for (const path of given) real.push((await files.locate(path, signal)).path);
  return await files.inLine([...new Set(real)], async () => {
    const outcomes = await check(files, patches, signal);
    const before = await saved(files, outcomes, signal);
    try {
      // Texts are written first: what a failure leaves is put back from `before`.
      for (const { given: path, text, mode } of outcomes.values()) {
        if (text !== undefined) await files.write(path, await files.locate(path, signal), text, signal, mode);
      }
      for (const [path, { text }] of outcomes)
        if (text === undefined) await files.sandbox.files.remove(path, { signal });
    } catch (error) {
      for (const [path, content] of before) {
        if (content === undefined) await files.sandbox.files.remove(path).catch(() => {});
        else await files.sandbox.files.write(path, content.bytes, { mode: content.mode }).catch(() => {});
      }
      throw error;
    }
    const lines = patches.map(lineOf);
    const changes = lines.map((line) => ({ kind: line.slice(0, 1), path: line.slice(2) }));
    return textResult(`Success. Updated the following files:\n${lines.join('\n')}\n`, { changes });
  });
}

function lineOf(patch: FilePatch): string {
  if (patch.kind === 'update') return `M ${patch.movedTo ?? patch.path}`;
  return `${patch.kind === 'add' ? 'A' : 'D'} ${patch.path}`;
}

/** All files after the patch, by their real paths. A later part of the patch sees what an earlier one did. */
async function check(
  files: TextFiles,
  patches: readonly FilePatch[],
  signal: AbortSignal,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  for (const patch of patches) {
    const found = await files.locate(patch.path, signal);
    const earlier = outcomes.get(found.path);
    if (patch.kind === 'add') {
      files.checkWritable(patch.path, found);
      outcomes.set(found.path, { given: patch.path, text: patch.text });
      continue;
    }
    if (earlier === undefined ? found.type === 'missing' : earlier.text === undefined) {
      const verb = patch.kind === 'delete' ? 'delete' : 'read file to update';
      throw new PatchError(`Failed to ${verb} ${patch.path}: No such file or directory`);
    }
    if (earlier === undefined) files.checkWritable(patch.path, found);
    if (patch.kind === 'delete') {
      outcomes.set(found.path, { given: patch.path, text: undefined });
      continue;
    }
    const text = earlier?.text ?? (await files.readLocated(patch.path, found, signal));
    const changed = changedBy(patch, text);
    if (patch.movedTo === undefined) {
      outcomes.set(found.path, { given: patch.path, text: changed, mode: earlier?.mode });
      continue;
    }
    const target = await files.locate(patch.movedTo, signal);
    files.checkWritable(patch.movedTo, target);
    outcomes.set(found.path, { given: patch.path, text: undefined });
    const mode = earlier?.mode ?? (await files.sandbox.files.stat(found.path, { signal }))?.mode;
    outcomes.set(target.path, { given: patch.movedTo, text: changed, mode });
  }
  return outcomes;
}

function changedBy({ path, hunks }: Extract<FilePatch, { kind: 'update' }>, text: string): string {
  try {
    return hunks.length === 0 ? text : applyHunks(text, hunks);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new PatchError(`${path}: ${error.message}`);
  }
}

/** Bytes and modes of files before the patch; undefined for files that it adds. */
async function saved(files: TextFiles, outcomes: ReadonlyMap<string, Outcome>, signal: AbortSignal) {
  const before = new Map<string, { readonly bytes: Uint8Array; readonly mode: number } | undefined>();
  for (const path of outcomes.keys()) {
    const entry = await files.sandbox.files.stat(path, { signal });
    const isFile = entry?.type === 'file';
    before.set(
      path,
      isFile ? { bytes: await files.sandbox.files.read(path, { signal }), mode: entry.mode } : undefined,
    );
  }
  return before;
}
