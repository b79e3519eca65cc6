import { messageOf } from '../../contract/errors.ts';

/** True for the error that a database throws when a foreign key has no row to refer to. */
export function isReferenceBroken(error: unknown): boolean {
  return /foreign key constraint/i.test(messageOf(error));
}
