import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isThere, processNamespace, startOf } from './process-table.ts';

/** Those of this process. */
const folders = new Set<string>();
/** Kinds and places whose leftovers this process has removed. */
const cleared = new Set<string>();

/** A folder of this user alone, which is gone when its process is. */
export interface OwnedFolder {
  readonly path: string;
  /** Removes it with all that is in it. */
  remove(): void;
}

/**
 * Makes a folder whose name says which process made it, and removes those of its kind that processes of ours left behind
 * that are gone.
 *
 * @param kind the beginning of its name, such as `proctor-host`. @param root where it lies.
 */
export function makeOwnedFolder(kind: string, root: string): OwnedFolder {
  const place = join(root, kind);
  if (!cleared.has(place)) removeLeftovers(kind, root);
  cleared.add(place);
  const owner = `${process.pid}_${startOf(process.pid) ?? ''}_${processNamespace() ?? ''}`;
  // With the permissions 0700.
  const path = mkdtempSync(join(root, `${kind}-${owner}-`));
  if (folders.size === 0) process.once('exit', removeAll);
  folders.add(path);
  const remove = () => {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    folders.delete(path);
    if (folders.size === 0) process.off('exit', removeAll);
  };
  return { path, remove };
}

function removeAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

function removeLeftovers(kind: string, root: string): void {
  const here = processNamespace();
  // Elsewhere than on Linux nobody can tell whether a number is still that of the same process.
  if (here === undefined) return;
  for (const name of readdirSync(root)) {
    const [, pid, startedAt = '', namespace] = OWNER.exec(name.startsWith(kind) ? name.slice(kind.length) : '') ?? [];
    if (pid === undefined || namespace !== here || isThere(Number(pid), startedAt)) continue;
    const path = join(root, name);
    try {
      if (lstatSync(path).uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process of ours was faster.
    }
  }
}

/** Id, start time and pid namespace of the process that made it. */
const OWNER = /^-(\d+)_(\d*)_(\d*)-/;
