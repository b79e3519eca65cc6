import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A plain hash is enough for what cannot be guessed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
