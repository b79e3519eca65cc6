import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_SOCKET_PATH_BYTES } from '../contract/host.ts';
import { isThere, processNamespace, startOf } from './process-table.ts';

/** Names the process that made it: id, start time, pid namespace. */
const NAME = /^proctor-host-(\d+)_(\d*)_(\d*)-/;

/** Those of this process. */
const folders = new Set<string>();

/** A directory of this user alone with one socket in it. */
export interface SocketFolder {
  readonly socket: string;
  remove(): void;
}

/**
 * Makes a directory for the socket of a host, and removes those that processes of ours left behind that are gone.
 *
 * @throws Error where no path for it is short enough.
 */
export function makeSocketFolder(): SocketFolder {
  // Some systems have a long one for each user, and the path of a socket has to be short.
  const root = [tmpdir(), '/tmp'].find((each) => Buffer.byteLength(each) <= MAX_SOCKET_PATH_BYTES - 60);
  if (root === undefined) throw new Error(`The path of the temporary directory is too long for sockets: ${tmpdir()}`);
  if (folders.size === 0) removeLeftovers(root);
  const owner = `${process.pid}_${startOf(process.pid) ?? ''}_${processNamespace() ?? ''}`;
  // With the permissions 0700.
  const folder = mkdtempSync(join(root, `proctor-host-${owner}-`));
  if (folders.size === 0) process.once('exit', removeAll);
  folders.add(folder);
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    folders.delete(folder);
    if (folders.size === 0) process.off('exit', removeAll);
  };
  return { socket: join(folder, 's'), remove };
}

function removeAll(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

function removeLeftovers(root: string): void {
  const here = processNamespace();
  // Elsewhere than on Linux nobody can tell whether a number is still that of the same process.
  if (here === undefined) return;
  for (const name of readdirSync(root)) {
    const [, pid, startedAt = '', namespace] = NAME.exec(name) ?? [];
    if (pid === undefined || namespace !== here || isThere(Number(pid), startedAt)) continue;
    const path = join(root, name);
    try {
      if (lstatSync(path).uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another process of ours was faster.
    }
  }
}
