import { createWriteStream } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { parseDescriptor } from '../harness-key.ts';

/**
 * The output for protocol messages on the file descriptor that `PROCTOR_PROTOCOL_FD` names. The variable is deleted
 * from `variables`. Undefined without the variable.
 *
 * @throws Error if the number is not that of an open pipe, socket, file or terminal.
 */
export function takeProtocolOutput(variables: Record<string, string | undefined> = process.env): Writable | undefined {
  const named = variables[PROCESS_VARIABLES.protocolFd];
  delete variables[PROCESS_VARIABLES.protocolFd];
  if (named === undefined) return undefined;
  const { fd, kind } = parseDescriptor(PROCESS_VARIABLES.protocolFd, named);
  if (kind === 'terminal') return new WriteStream(fd);
  return kind === 'file' ? createWriteStream('', { fd }) : new Socket({ fd, readable: false, writable: true });
}
