import type { IncomingMessage } from 'node:http';
import type { Mount } from './api/route.ts';

/** The unknown path that replaces a path with a secret. */
const SECRET_PATHS = '/r';

/**
 * Removes the secret from a path such as `/r/<secret>/mcp` before it is logged or reported. Such a secret overrides any
 * other key of the request. Undefined when no mount has secrets.
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
    // A path with a doubled slash is unknown, but it contains a secret too.
    const isKnown =
      url.startsWith(`/r/${secret}`) &&
      own.some((mount) => mount.path === path || mount.claims?.(request, path) === true);
    if (isKnown) return `${path}${query}`;
    request.headers.authorization = undefined;
    return SECRET_PATHS;
  };
}
