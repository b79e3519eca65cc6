import { hostname } from 'node:os';

/** Says which process holds something that lives in its memory. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly id: string;
  /** When its process started, in milliseconds since 1970: in a container the next process often has its number. */
  readonly startedAt: number;
  /** Where other processes reach its server, without a slash at the end; undefined where they need not. */
  readonly url?: string;
}

/** Milliseconds after which an owner that has not been heard of counts as gone, wherever it runs. */
const GONE_AFTER_MS = 60_000;

/** This process as an owner. @param id of the server in it. */
export function ownerHere(id: string): Owner {
  return { host: hostname(), pid: process.pid, id, startedAt: performance.timeOrigin };
}

/**
 * True for an owner whose process has ended, or that has not been heard of for a minute.
 *
 * @param seenAt when it last said that it is there, in milliseconds since 1970.
 */
export function isGone({ host, pid, startedAt }: Owner, seenAt: number): boolean {
  const here = ownerHere('');
  const isSilent = seenAt < Date.now() - GONE_AFTER_MS;
  if (host !== here.host) return isSilent;
  if (pid === process.pid && startedAt !== here.startedAt) return true;
  // Another program may have got its number since.
  return isSilent || !isRunning(pid);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
