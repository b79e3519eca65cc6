import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Number of sockets of a process that listen, by Node.js's names for their kinds. */
export interface OpenSockets {
  /** Listeners on a port. */
  readonly TCPServerWrap: number;
  readonly UDPWrap: number;
}

/** State of a listener in `/proc/<pid>/net/tcp`. */
const LISTENING = '0A';
/** Columns of that file. */
const [STATE, INODE] = [3, 9];

/**
 * Counts the sockets of a process with Linux's help, because the event loop does not count those that were `unref`ed.
 *
 * @returns undefined if the system does not show them.
 */
export function openSockets(pid: number): OpenSockets | undefined {
  try {
    const descriptors = readdirSync(`/proc/${pid}/fd`).map((descriptor) => targetOf(`/proc/${pid}/fd/${descriptor}`));
    const isOwn = (columns: readonly string[]) => descriptors.includes(`socket:[${columns[INODE]}]`);
    const count = (files: readonly string[], isWanted: (columns: readonly string[]) => boolean) =>
      files.flatMap((file) => rowsOf(pid, file)).filter((columns) => isWanted(columns) && isOwn(columns)).length;
    return {
      TCPServerWrap: count(['tcp', 'tcp6'], (columns) => columns[STATE] === LISTENING),
      UDPWrap: count(['udp', 'udp6'], () => true),
    };
  } catch {
    return undefined;
  }
}

function targetOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // The descriptor was closed meanwhile.
  }
}

/** @throws Error if the file cannot be read. */
function rowsOf(pid: number, file: string): readonly (readonly string[])[] {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/net/${file}`, 'utf8');
  } catch (error) {
    // A machine without IPv6 has no such file.
    if (file.endsWith('6')) return [];
    throw error;
  }
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
}
