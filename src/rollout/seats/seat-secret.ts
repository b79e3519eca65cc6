import { createHash } from 'node:crypto';
import { newId } from '../../support/runtime/new-id.ts';

/** Makes a secret of 128 random bits, in the format that redaction recognizes (redaction/secret-shapes.ts). */
export function createSeatSecret(): string {
  return `seat_${newId()}`;
}

/** Hash under which a secret is stored. The secret is random enough for a plain hash. */
export function hashSeatSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** True if a text has the format of a seat secret. */
export function isSeatSecret(text: string): boolean {
  return /^seat_[0-9a-f]{32}$/.test(text);
}
