import { z } from 'zod';
import { DEFAULT_PORTS } from '../contract/names.ts';
import type { Accounts } from '../store/accounts/accounts.ts';
import { readSessionCookie, sessionCookie } from '../store/accounts/session-cookie.ts';
import type { Route, RouteReply, RouteRequest } from '../support/http/api/route.ts';
import { pageReply, redirectReply } from '../support/http/reply/page-reply.ts';
import { renderSignInPage, type SignInProps } from './sign-in-page.tsx';

export interface SignIn {
  /**
   * Shows a page to signed-in browsers alone; others get the form (401), which leads back to where they wanted to go:
   * `path` is that of the route, default `/`.
   */
  guard(show: (account: string, request: RouteRequest) => Promise<RouteReply>, path?: string): Route['handle'];
  readonly routes: readonly Route[];
}

const formSchema = z.object({ key: z.string(), next: z.string().optional() });

/** The sign-in of contract section 4: by the one-time `?token=` of a printed address, or by an API key in a form. */
export function createSignIn(accounts: Accounts): SignIn {
  const guard: SignIn['guard'] =
    (show, path = '/') =>
    async (request) => {
      const here = addressOf(path, request);
      // The preview of a link must not use the address up before a person opens it.
      const token = request.method === 'HEAD' ? null : request.query.get('token');
      const redeemed = token === null ? undefined : await accounts.redeemSignInToken(token);
      if (redeemed !== undefined) return redirectReply(here, sessionCookie(redeemed.session));
      const cookie = readSessionCookie(request.headers.cookie);
      const session = cookie === undefined ? undefined : await accounts.verifyBrowserSession(cookie);
      if (session === undefined)
        return askToSignIn(request, here, token === null ? undefined : spentToken(request, here));
      // The browser has signed in already, so an old address is no error.
      return token === null ? show(session.account, request) : redirectReply(here);
    };

  async function signIn(request: RouteRequest): Promise<RouteReply> {
    const { key, next } = formSchema.parse(request.body);
    const target = localPath(next);
    const caller = await accounts.verifyKey(key.trim());
    if (caller === undefined) return await signInPage(request, target, { problem: UNKNOWN_KEY });
    const { session } = await accounts.createBrowserSession(caller.account);
    return redirectReply(target, sessionCookie(session));
  }

  /**
   * A browser that follows a link of another site does not send a SameSite=Strict cookie along. The form then loads the
   * same page once more by itself, which does: who is signed in never notices it.
   */
  function askToSignIn(request: RouteRequest, next: string, problem: string | undefined): Promise<RouteReply> {
    const site = request.headers['sec-fetch-site'];
    const comesFromElsewhere = site === 'cross-site' || site === 'same-site';
    return signInPage(request, next, { problem, ...(comesFromElsewhere ? { reload: next } : {}) });
  }

  async function signInPage(
    request: RouteRequest,
    next: string,
    props: Pick<SignInProps, 'problem' | 'reload'>,
  ): Promise<RouteReply> {
    const keys = await accounts.listKeys();
    const hasKeptKey = keys.some(({ name, revokedAt }) => revokedAt === null && KEPT_KEY.test(name));
    const page = renderSignInPage({ next, command: openCommand(request, next), hasKeptKey, ...props });
    return pageReply(page, 401);
  }

  const path = '/sign-in';
  return {
    guard,
    routes: [
      {
        method: 'GET',
        path,
        summary: 'The sign-in form',
        access: 'page',
        handle: guard(async () => redirectReply('/')),
      },
      {
        method: 'POST',
        path,
        summary: 'Sign in a browser with an API key',
        access: 'page',
        request: formSchema,
        handle: signIn,
      },
    ],
  };
}

function spentToken(request: RouteRequest, next: string): string {
  return `This sign-in address was used before or is too old. Run "${openCommand(request, next)}" for a new one.`;
}

/** The command that prints an address of this very server, and of the trace that is asked for. */
function openCommand({ headers }: RouteRequest, next: string): string {
  const [, traceId] = TRACE_PAGE.exec(next) ?? [];
  const command = traceId === undefined ? 'npx proctor open' : `npx proctor open ${traceId}`;
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1];
  const isDefault = port === undefined || Number(port) === DEFAULT_PORTS.runService;
  return isDefault ? command : `${command} --port ${port}`;
}

const TRACE_PAGE = /^\/traces\/([0-9a-f]{32})(?:\?|$)/;
const PAGE_OF_OURS =
  /^\/(traces(\/[0-9a-f]{32})?|compare|environments(\/[\w.~%-]+)?|evaluations(\/[\w]+)?|usage)?(\?[\w.~%&=+*-]*)?$/;
/** The names of keys that a command makes by itself, and keeps in the key file of the database. */
const KEPT_KEY = /^local(-|$)/;
const UNKNOWN_KEY = 'This key is not known, or it was revoked.';

/** The address that was asked for, without the token. */
function addressOf(path: string, { params, query }: RouteRequest): string {
  const values = new URLSearchParams(query);
  values.delete('token');
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return values.size === 0 ? filled : `${filled}?${values}`;
}

/** A form field decides where the browser goes next: only to a page of ours. */
function localPath(next: string | undefined): string {
  return next !== undefined && PAGE_OF_OURS.test(next) ? next : '/';
}
