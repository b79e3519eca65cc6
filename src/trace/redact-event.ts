import type { EventBody } from '../contract/event.ts';
import type { Redactor } from '../redaction/redactor.ts';

/** An event as it is stored. Where a response held a secret its tokens are left out, since they spell it in pieces. */
export function redactEvent<Body extends EventBody>(body: Body, redactor: Redactor): Body {
  const redacted = redactor.json(body);
  if (redacted === body || redacted.type !== 'model.responded') return redacted;
  return { ...redacted, token_ids: null, logprobs: null };
}

/** Whether something was taken out of a value that was stored. */
export function isRedacted(value: unknown): boolean {
  return JSON.stringify(value).includes('[redacted:');
}

/** Bytes as they are stored: those of a text without its secrets, all others as they are. */
export function redactBytes(bytes: Uint8Array, mimeType: string, redactor: Redactor): Uint8Array {
  if (!/^text\/|[/+](?:json|xml|yaml|javascript|x-sh)\b/i.test(mimeType)) return bytes;
  // Every byte is one character, so that what is no valid UTF-8 comes through unchanged.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const redacted = redactor.text(text);
  return redacted === text ? bytes : Buffer.from(redacted, 'latin1');
}
