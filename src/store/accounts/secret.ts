import { createHash, randomBytes } from 'node:crypto';

/** A secret of 256 random bits. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A plain hash is enough, because a random secret cannot be guessed. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
