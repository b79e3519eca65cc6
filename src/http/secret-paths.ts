import type { IncomingMessage } from 'node:http';
import type { Mount } from './route.ts';

/** An unknown path, in place of one with a secret. */
const SECRET_PATHS = '/r';

/**
 * Takes a secret out of a path, `/r/<secret>/mcp`, before anything is made of the request that is logged or told. With
 * such a path no other secret or key counts. Where no mount has secrets, there are no such paths.
 */
export function createSecretPaths(mounts: readonly Mount[]): (request: IncomingMessage, url: string) => string {
  const own = mounts.filter(({ hasOwnSecrets }) => hasOwnSecrets);
  if (own.length === 0) return (_request, url) => url;
  return (request, url) => {
    const [, secret, path = '', query = ''] = /^\/+r(?:\/+([^/?]*)([^?]*)(\?.*)?)?$/s.exec(url) ?? [];
    if (secret === undefined) return url;
    request.headers.authorization = `Bearer ${secret}`;
    // A doubled slash is another path; the secret in it is one all the same.
    const isKnown = url.startsWith(`/r/${secret}`) && findMount(own, request, path) !== undefined;
    if (isKnown) return `${path}${query}`;
    request.headers.authorization = undefined;
    return SECRET_PATHS;
  };
}

/** The mount that answers at a path. */
export function findMount<M extends Pick<Mount, 'path' | 'claims'>>(
  mounts: readonly M[],
  request: IncomingMessage,
  path: string,
): M | undefined {
  return mounts.find((mount) => mount.path === path) ?? mounts.find((mount) => mount.claims?.(request, path));
}
