import type { Owner } from '../files/open-folder.ts';

/** A number that usual systems give to no user. */
const UNUSED_ID = 64_999;

/**
 * User that commands run as, seen from outside. Root must not be the one: without any capability it still owns the
 * settings of the kernel and the devices. Undefined: the user of this process.
 */
export function unprivilegedUser(): Owner | undefined {
  return process.getuid?.() === 0 ? { uid: UNUSED_ID, gid: UNUSED_ID } : undefined;
}
