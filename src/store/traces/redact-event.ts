import type { EventBody } from '../../contract/service/event.ts';
import type { Redactor } from '../../support/redaction/redactor.ts';

/**
 * An event without secrets. When a response held a secret, its tokens are dropped too, because they spell the secret.
 */
export function redactEvent<Body extends EventBody>(body: Body, redactor: Redactor): Body {
  const redacted = redactor.json(body);
  if (redacted === body || redacted.type !== 'model.responded') return redacted;
  return { ...redacted, token_ids: null, logprobs: null };
}

/** True when a secret was removed from a stored value. */
export function isRedacted(value: unknown): boolean {
  return JSON.stringify(value).includes('[redacted:');
}

/** Bytes without secrets when they are text. All other bytes stay unchanged. */
export function redactBytes(bytes: Uint8Array, mimeType: string, redactor: Redactor): Uint8Array {
  if (!/^text\/|[/+](?:json|xml|yaml|javascript|x-sh)\b/i.test(mimeType)) return bytes;
  // latin1 maps every byte to one character, so that bytes that are not valid UTF-8 stay unchanged.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const redacted = redactor.text(text);
  return redacted === text ? bytes : Buffer.from(redacted, 'latin1');
}
