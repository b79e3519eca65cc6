import type { IncomingMessage } from 'node:http';
import type { Mount } from './route.ts';

/** An unknown path, in place of one with a secret. */
const SECRET_PATHS = '/r';

/**
 * Takes a secret out of a path, `/r/<secret>/mcp`, before anything is made of the request that is logged or told. With
 * such a path no other secret or key counts. Undefined where no mount has secrets: then there are no such paths.
 */
export function createSecretPaths(
  mounts: readonly Mount[],
): ((request: IncomingMessage, url: string) => string) | undefined {
  const own = mounts.filter(({ hasOwnSecrets }) => hasOwnSecrets);
  if (own.length === 0) return undefined;
  return (request, url) => {
    const [, secret, path = '', query = ''] = /^\/+r(?:\/+([^/?]*)([^?]*)(\?.*)?)?$/s.exec(url) ?? [];
    if (secret === undefined) return url;
    request.headers.authorization = `Bearer ${secret}`;
    // A doubled slash is another path; the secret in it is one all the same.
    const isKnown =
      url.startsWith(`/r/${secret}`) &&
      own.some((mount) => mount.path === path || mount.claims?.(request, path) === true);
    if (isKnown) return `${path}${query}`;
    request.headers.authorization = undefined;
    return SECRET_PATHS;
  };
}
