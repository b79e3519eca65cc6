import { lstatSync, readlinkSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Place } from '../files/folder-files.ts';

const MAX_LINKS = 40;

/** A folder inside, and its place on this machine. */
export interface InsideRoot {
  readonly inside: string;
  readonly host: string;
}

/** @throws RangeError for a path that is not absolute, or outside of the folders that the sandbox can write. */
export function toPlace(path: string, roots: readonly InsideRoot[]): Place {
  if (!path.startsWith('/') || path.includes('\0')) throw new RangeError(`${JSON.stringify(path)} is no absolute path`);
  const normal = posix.normalize(path).replace(/(.)\/+$/, '$1');
  const root = rootOf(normal, roots);
  if (root === undefined) {
    const folders = roots.map(({ inside }) => inside).join(', ');
    throw new RangeError(`${JSON.stringify(path)} is outside of the folders that this sandbox can write: ${folders}`);
  }
  const names = normal.slice(root.inside.length).split('/').filter(Boolean);
  return { root: root.host, names, shown: normal };
}

/**
 * True if the path is a folder inside. Links are followed as inside: an absolute one begins at the root of the sandbox.
 *
 * @param isShared tells paths that are the same inside and outside.
 */
export function isFolderInside(
  path: string,
  roots: readonly InsideRoot[],
  isShared: (path: string) => boolean,
): boolean {
  let at = '/';
  let links = 0;
  const rest = path.split('/').filter(Boolean);
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    if (name === '..' || name === '.') {
      at = posix.normalize(posix.join(at, name));
      continue;
    }
    const next = posix.join(at, name);
    const host = hostPathOf(next, roots, isShared);
    // A folder above a mount, such as `/home`, exists inside alone.
    if (roots.some(({ inside }) => inside.startsWith(`${next}/`))) {
      at = next;
      continue;
    }
    if (host === undefined) return false;
    const stats = lstatSync(host, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) {
      links += 1;
      if (links > MAX_LINKS) return false;
      const target = readlinkSync(host);
      rest.unshift(...target.split('/').filter(Boolean));
      if (target.startsWith('/')) at = '/';
      continue;
    }
    if (stats?.isDirectory() !== true) return false;
    at = next;
  }
  return true;
}

function hostPathOf(
  path: string,
  roots: readonly InsideRoot[],
  isShared: (path: string) => boolean,
): string | undefined {
  const root = rootOf(path, roots);
  if (root !== undefined) return join(root.host, path.slice(root.inside.length));
  return isShared(path) ? path : undefined;
}

function rootOf(path: string, roots: readonly InsideRoot[]): InsideRoot | undefined {
  const containing = roots.filter(({ inside }) => path === inside || path.startsWith(`${inside}/`));
  return containing.sort((one, other) => other.inside.length - one.inside.length)[0];
}
