import type { Secret } from './redactor.ts';

const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...['key', 'keys', 'token', 'tokens', 'secret', 'secrets', 'password', 'passwords', 'passwd', 'passphrase', 'pass'],
  ...['pwd', 'credential', 'credentials'],
]);
/** Words that mark a secret only at the end of a name: AUTH_MODE and COOKIE_DOMAIN are settings. */
const SECRET_LAST_WORDS: ReadonlySet<string> = new Set(['auth', 'authorization', 'bearer', 'cookie', 'cookies']);
/** Endings of names without separators, such as PGPASSWORD. */
const SECRET_ENDINGS = /(?:key|token|secret|password|passwd|passphrase|credential)s?$/;
/** Endings of names that describe a secret but do not hold one. */
const HARMLESS_ENDINGS: ReadonlySet<string> = new Set([
  ...['file', 'files', 'path', 'paths', 'dir', 'directory', 'sock', 'socket', 'url', 'uri', 'endpoint', 'host', 'port'],
  ...[
    'id',
    'ids',
    'name',
    'names',
    'user',
    'username',
    'type',
    'format',
    'algorithm',
    'length',
    'size',
    'limit',
    'ttl',
  ],
  ...['prefix', 'suffix', 'domain', 'mode', 'strategy', 'scope', 'scopes', 'region', 'issuer', 'audience', 'provider'],
  ...['timeout', 'seconds', 'ms', 'count', 'max', 'min', 'version', 'enabled', 'helper', 'fd', 'parallelism', 'budget'],
]);

/** True when the words of a variable's or header's name mark a secret: KEY, TOKEN, SECRET, PASSWORD, … */
export function isSecretName(name: string): boolean {
  if (name === 'PWD' || name === 'OLDPWD') return false;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  const last = words.at(-1) ?? '';
  if (HARMLESS_ENDINGS.has(last)) return false;
  return SECRET_LAST_WORDS.has(last) || words.some((word) => SECRET_WORDS.has(word) || SECRET_ENDINGS.test(word));
}

/**
 * The secrets in environment variables: values of variables with secret names, and headers of OpenTelemetry exporters.
 * Addresses and file names do not count.
 */
export function secretsOfVariables(variables: Readonly<Record<string, string | undefined>>): readonly Secret[] {
  return Object.entries(variables).flatMap(([name, value]): readonly Secret[] => {
    if (value === undefined) return [];
    if (/^OTEL_.*HEADERS$/.test(name)) return secretsOfHeaders(parseHeaderList(value), name);
    return isSecretName(name) && !isAddress(name, value) ? [{ name, value }] : [];
  });
}

/** The secrets in HTTP headers, with and without their scheme. */
export function secretsOfHeaders(
  headers: Readonly<Record<string, string>>,
  source: string | undefined = undefined,
): readonly Secret[] {
  return Object.entries(headers).flatMap(([header, value]): readonly Secret[] => {
    if (!isSecretName(header)) return [];
    const name = source ?? header;
    const bare = /^[A-Za-z]{1,20}\s+(\S+)$/.exec(value.trim())?.[1];
    return [{ name, value }, ...(bare === undefined ? [] : [{ name, value: bare }])];
  });
}

/** Parses `authorization=Bearer%20abc,api-key=def`, the header format of OpenTelemetry. */
function parseHeaderList(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(',').map((pair) => {
      const at = pair.indexOf('=');
      return [pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())];
    }),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * True for a URL or a file path. Keys are often given as files. For passwords a path-like value still counts as a
 * secret.
 */
function isAddress(name: string, value: string): boolean {
  if (/^https?:\/\/[^\s@]*$/i.test(value)) return true;
  return !/SECRET|TOKEN|PASS/i.test(name) && /^(?:~|\.{1,2})?\/(?:[^/\s+=]+\/)*[^/\s+=]+$/.test(value);
}
