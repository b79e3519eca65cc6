import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DATASET_FILES } from '../../contract/service/dataset.ts';

/**
 * Writes a dataset into a temporary folder beside `folder` and renames it when `write` is done. A failure changes
 * nothing.
 *
 * @throws Error for a `folder` that is neither a dataset nor empty; errors of `write`.
 */
export async function withDatasetFolder<T>(folder: string, write: (path: string) => Promise<T>): Promise<T> {
  const target = resolve(folder);
  const parent = dirname(target);
  await refuseOthers(target, folder);
  await mkdir(parent, { recursive: true });
  await removeLeftOvers(parent, basename(target));
  const own = join(parent, `${prefixOf(basename(target))}${process.pid}.${randomBytes(4).toString('hex')}`);
  await mkdir(own);
  try {
    const written = await write(own);
    await replace(target, own, folder);
    return written;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/**
 * Puts the new folder in place of the old one. A rename cannot replace a folder with files, so the old one is moved
 * away first and deleted afterwards.
 */
async function replace(target: string, own: string, folder: string): Promise<void> {
  const isThere = await refuseOthers(target, folder);
  const old = `${own}.old`;
  if (isThere) await rename(target, old);
  try {
    await rename(own, target);
  } catch (error) {
    if (isThere) await rename(old, target);
    throw error;
  }
  await rm(old, { recursive: true, force: true });
}

/** @returns true when the folder exists. @throws Error when it holds other files than a dataset's. */
async function refuseOthers(target: string, folder: string): Promise<boolean> {
  const names: readonly string[] | undefined = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    if (error.code === 'ENOTDIR') throw new Error(`${folder} is a file: name a folder for the dataset.`);
    throw error;
  });
  const known: readonly string[] = Object.values(DATASET_FILES);
  const other = names?.find((name) => !known.includes(name));
  if (other === undefined) return names !== undefined;
  throw new Error(`${folder} holds ${JSON.stringify(other)}, which is no file of a dataset: name a new folder.`);
}

function prefixOf(name: string): string {
  return `.${name}.writing.`;
}

/** Removes temporary folders of processes that were killed. */
async function removeLeftOvers(parent: string, name: string): Promise<void> {
  for (const entry of await readdir(parent)) {
    if (!entry.startsWith(prefixOf(name))) continue;
    const pid = Number(entry.slice(prefixOf(name).length).split('.')[0]);
    if (Number.isInteger(pid) && !isAlive(pid)) await rm(join(parent, entry), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
