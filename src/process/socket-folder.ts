import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_SOCKET_PATH_BYTES } from '../contract/host.ts';
import { makeOwnedFolder } from './owned-folder.ts';

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
  const { path, remove } = makeOwnedFolder('proctor-host', root);
  return { socket: join(path, 's'), remove };
}
