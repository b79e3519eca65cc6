import { createHash, timingSafeEqual } from 'node:crypto';
import { type AuthenticationOptions, LOCAL_CALLER } from './api-keys.ts';

/**
 * Key check for a server with a single key. Without a key every request is allowed.
 *
 * @param ways how the key can be set, for messages.
 */
export function fixedKey(
  apiKey: string | undefined,
  ways: string,
): Pick<AuthenticationOptions, 'verifyKey' | 'keyHint'> {
  if (apiKey === undefined) return {};
  const expected = hash(apiKey);
  return {
    verifyKey: async (key) => (timingSafeEqual(hash(key), expected) ? LOCAL_CALLER : undefined),
    keyHint: `Its key is the one that it was started with (${ways}).`,
  };
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
