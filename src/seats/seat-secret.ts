import { createHash, randomBytes } from 'node:crypto';

/** A new secret of 128 random bits, in the shape that redaction knows (redaction/secret-shapes.ts). */
export function createSeatSecret(): string {
  return `seat_${randomBytes(16).toString('hex')}`;
}

/** A secret as it is kept: it is random enough for a plain hash. */
export function hashSeatSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Whether a text has the shape of a seat's secret. */
export function isSeatSecret(text: string): boolean {
  return /^seat_[0-9a-f]{32}$/.test(text);
}
