export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Nobody's number on usual systems. */
const UNUSED_ID = 64_999;

/**
 * Whom sandboxed commands run as, seen from outside. The user root must not be the one: without any capability it still
 * owns the settings of the kernel and the devices. Undefined: whoever runs the environment.
 */
export function unprivilegedUser(): User | undefined {
  return process.getuid?.() === 0 ? { uid: UNUSED_ID, gid: UNUSED_ID } : undefined;
}

/** Gives what has been made for an agent to whom its commands run as. */
export async function giveToUser(made: { chown(uid: number, gid: number): Promise<void> }): Promise<void> {
  const user = unprivilegedUser();
  if (user !== undefined) await made.chown(user.uid, user.gid);
}
