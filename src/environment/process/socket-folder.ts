import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_SOCKET_PATH_BYTES } from '../../contract/host.ts';
import { makeOwnedFolder } from './owned-folder.ts';

/** A folder that only this user may read, with one socket in it. */
export interface SocketFolder {
  readonly socket: string;
  remove(): void;
}

/**
 * Makes a folder for the socket of a host. Removes such folders whose processes have ended.
 *
 * @throws Error if the path would be too long for a socket.
 */
export function makeSocketFolder(): SocketFolder {
  // Some systems have a long temporary folder for each user, but the path of a socket has to be short.
  const root = [tmpdir(), '/tmp'].find((each) => Buffer.byteLength(each) <= MAX_SOCKET_PATH_BYTES - 60);
  if (root === undefined) throw new Error(`The path of the temporary directory is too long for sockets: ${tmpdir()}`);
  const { path, remove } = makeOwnedFolder('proctor-host', root);
  return { socket: join(path, 's'), remove };
}
