import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../contract/errors.ts';
import { LOCAL_ACCOUNT } from '../../../contract/names.ts';
import { isLoopbackHost } from '../origin-guard.ts';
import type { Caller, Route } from './route.ts';

export interface AuthenticationOptions {
  /** The address that the server binds. */
  readonly host: string;
  /** Finds the caller of a key. Undefined: this server needs no key, and every caller is the account `local`. */
  readonly verifyKey?: ((key: string) => Promise<Caller | undefined> | Caller | undefined) | undefined;
  /** End of the message for an unknown key: how to get a key. Default: how to create a new one. */
  readonly keyHint?: string | undefined;
  /** A header, in lower case, that may hold the bare key in place of `Authorization`. Default: none. */
  readonly keyHeader?: string | undefined;
  /** Finds the signed-in browser by its `Cookie` header. */
  readonly verifyBrowser?: ((cookie: string) => Promise<SignedInBrowser | undefined>) | undefined;
}

export interface SignedInBrowser {
  readonly account: string;
  /** True for this browser's page token. Pages send it with each change as `x-csrf-token`. */
  isPageToken(token: string): boolean;
}

export interface Authentication {
  /** @throws ApiError invalid_api_key; forbidden for a change without the browser's page token. */
  authenticate(
    access: Route['access'],
    request: {
      readonly method: string;
      readonly headers: IncomingHttpHeaders;
      /** Bare keys that the request carries in other places than `Authorization`. Default: none. */
      readonly otherKeys?: readonly string[];
    },
  ): Promise<Caller | undefined>;
  /**
   * Authenticates by key only; undefined on servers without keys. It returns a promise only if `verifyKey` does: a tool
   * call should not wait for anything else.
   */
  readonly findKey: ((headers: IncomingHttpHeaders) => Promise<Caller> | Caller) | undefined;
}

/** The caller of every request on a server without keys. */
export const LOCAL_CALLER: Caller = { account: LOCAL_ACCOUNT, keyId: null, requestsPerMinute: null };

/** The account of a request. */
export function accountOf(caller: Caller | undefined): string {
  return (caller ?? LOCAL_CALLER).account;
}

const NEW_KEY_HINT = 'A new key is made by "npx proctor keys create --name <name>" on the server\'s machine.';

export function createAuthentication(options: AuthenticationOptions): Authentication {
  const unauthorized = (problem: string) =>
    new ApiError('invalid_api_key', `${problem} ${options.keyHint ?? NEW_KEY_HINT}`, {
      headers: { 'www-authenticate': 'Bearer' },
    });
  /** Finds a browser session. A cookie alone permits only reads: a form of another site could send it with a change. */
  async function findBrowser(method: string, headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    const token = headers[CSRF_HEADER];
    const isRead = method === 'GET' || method === 'HEAD';
    if (headers.cookie === undefined || (!isRead && token === undefined)) return undefined;
    const browser = await options.verifyBrowser?.(headers.cookie);
    if (browser === undefined) return undefined;
    if (!isRead && !browser.isPageToken(String(token))) throw wrongPageToken();
    return { ...LOCAL_CALLER, account: browser.account };
  }
  const { verifyKey } = options;
  const findKey =
    verifyKey &&
    ((headers: IncomingHttpHeaders, otherKeys: readonly string[] = []): Promise<Caller> | Caller => {
      const [authorization, ...others] = authorizationsOf(headers, options.keyHeader, otherKeys);
      if (authorization === undefined) {
        throw unauthorized('This needs an API key: send the header "Authorization: Bearer <API_KEY>".');
      }
      const key = bearerOf(authorization);
      // Which of the keys counts would depend on the server: a proxy and this one might pick differently.
      if (others.some((other) => bearerOf(other) !== key)) {
        throw unauthorized('This request has different keys in its headers or its address: send one.');
      }
      if (key === undefined) {
        throw unauthorized('The Authorization header has to be "Bearer <API_KEY>"; this one has another form.');
      }
      const known = (caller: Caller | undefined) => {
        if (caller === undefined) throw unauthorized('The API key is unknown or was revoked.');
        return caller;
      };
      const found = verifyKey(key);
      return found instanceof Promise ? found.then(known) : known(found);
    });

  return {
    findKey,
    async authenticate(access, { method, headers, otherKeys = [] }) {
      if (access === 'public' || access === 'page') return undefined;
      if (access === 'loopback' && isLoopbackHost(options.host)) return undefined;
      if (access === 'browser') {
        const browser = await findBrowser(method, headers);
        if (browser !== undefined) return browser;
        throw unauthorized('This is for pages of this server in a browser that is signed in.');
      }
      const isAnonymous = headers.authorization === undefined && otherKeys.length === 0;
      const browser = access === 'key-or-browser' && isAnonymous ? await findBrowser(method, headers) : undefined;
      return browser ?? findKey?.(headers, otherKeys) ?? LOCAL_CALLER;
    },
  };
}

/** All credentials of a request, in the form of the `Authorization` header. */
function authorizationsOf(
  { authorization, ...headers }: IncomingHttpHeaders,
  keyHeader: string | undefined,
  otherKeys: readonly string[],
): readonly string[] {
  const inHeader = keyHeader === undefined ? undefined : headers[keyHeader];
  const bare = typeof inHeader === 'string' ? [inHeader, ...otherKeys] : otherKeys;
  const all = bare.map((key) => `Bearer ${key}`);
  return authorization === undefined ? all : [authorization, ...all];
}

function bearerOf(authorization: string): string | undefined {
  return /^bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
}

const CSRF_HEADER = 'x-csrf-token';

function wrongPageToken(): ApiError {
  return new ApiError('forbidden', 'The request does not carry the token of the page: load the page again.');
}
