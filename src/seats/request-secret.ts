import type { IncomingMessage } from 'node:http';
import { isSeatSecret } from './seat-secret.ts';

/**
 * The secret that a request shows: as a bearer token, or where clients of other providers put their key. Some send a key of
 * their user beside it, so that the first that has the shape of ours counts.
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
