import type { IncomingMessage } from 'node:http';
import { isSeatSecret } from '../seat-secret.ts';

/**
 * The secret in a request: a bearer token, or the key header of another provider. Some clients also send a key of their
 * user, so the first one in the format of a seat secret counts.
 */
export function secretOf(request: IncomingMessage): string | undefined {
  const shown = [...shownKeys(request)];
  return shown.find(isSeatSecret) ?? shown[0];
}

function* shownKeys({ headers, url = '' }: IncomingMessage): Iterable<string> {
  const bearer = /^bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) yield bearer;
  for (const name of ['x-api-key', 'x-goog-api-key']) {
    const key = headers[name];
    if (typeof key === 'string' && key !== '') yield key;
  }
  const queryAt = url.indexOf('?');
  const key = queryAt === -1 ? null : new URLSearchParams(url.slice(queryAt)).get('key');
  if (key !== null && key !== '') yield key;
}
