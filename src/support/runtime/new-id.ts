import { randomBytes } from 'node:crypto';

/** A random id of 32 hexadecimal digits that cannot be guessed. Trace ids have this form. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}
