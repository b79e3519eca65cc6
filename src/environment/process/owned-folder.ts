import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isThere, processNamespace, startOf } from './process-table.ts';

/** The folders of this process. */
const folders = new Set<string>();
/** Kinds and roots for which this process has removed the leftovers. */
const cleared = new Set<string>();

/** A folder that only this user may read. It is removed when its process ends. */
export interface OwnedFolder {
  readonly path: string;
  /** Removes the folder with its content. */
  remove(): void;
}

/**
 * Makes a folder whose name contains the process that made it. Removes folders of the same kind whose processes have
 * ended.
 *
 * @param kind is the beginning of its name, such as `proctor-host`. @param root is the folder to make it in.
 */
export function makeOwnedFolder(kind: string, root: string): OwnedFolder {
  const place = join(root, kind);
  if (!cleared.has(place)) removeLeftovers(kind, root);
  cleared.add(place);
  const owner = `${process.pid}_${startOf(process.pid) ?? ''}_${processNamespace() ?? ''}`;
  // `mkdtemp` sets the permissions to 0700.
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
  // Only Linux can tell whether an id still belongs to the same process.
  if (here === undefined) return;
  for (const name of readdirSync(root)) {
    const [, pid, startedAt = '', namespace] = OWNER.exec(name.startsWith(kind) ? name.slice(kind.length) : '') ?? [];
    if (pid === undefined || namespace !== here || isThere(Number(pid), startedAt)) continue;
    const path = join(root, name);
    try {
      if (lstatSync(path).uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process of Proctor has removed it already.
    }
  }
}

/** Process id, start time and pid namespace in the name of a folder. */
const OWNER = /^-(\d+)_(\d*)_(\d*)-/;
