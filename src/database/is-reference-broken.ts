import { messageOf } from '../contract/errors.ts';

/** True for what a database throws where a row refers to one that is gone, or would be left to. */
export function isReferenceBroken(error: unknown): boolean {
  return /foreign key constraint/i.test(messageOf(error));
}
