import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Accounts } from '../accounts/accounts.ts';
import { readSessionCookie, sessionCookie } from '../accounts/session-cookie.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Route, RouteReply, RouteRequest } from '../http/route.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { CONTENT_SECURITY_POLICY } from './layout.tsx';
import { renderNotFoundPage } from './not-found-page.tsx';
import { renderRunsPage } from './runs-page.tsx';
import { renderSignInPage } from './sign-in-page.tsx';
import { renderTracePage } from './trace-page.tsx';

export interface PagesOptions {
  readonly store: TraceStore;
  readonly accounts: Accounts;
}

const RUNS_PER_PAGE = 50;

const signInFormSchema = z.object({ key: z.string(), next: z.string().optional() });

/**
 * The pages (contract section 4): the runs at `/`, a trace at `/traces/{trace_id}`. Nothing is shown without a
 * signed-in browser; the printed addresses sign in with a one-time `?token=`, the form with an API key.
 */
export function createPages({ store, accounts }: PagesOptions): readonly Route[] {
  const stylesheet = readFileSync(new URL('./style.css', import.meta.url), 'utf8');

  const signedIn =
    (show: (account: string, request: RouteRequest) => Promise<RouteReply>) => async (request: RouteRequest) => {
      const token = request.query.get('token');
      if (token !== null) return redeem(token, request);
      const cookie = readSessionCookie(request.headers.cookie);
      const session = cookie === undefined ? undefined : await accounts.verifyBrowserSession(cookie);
      if (session === undefined) return page(renderSignInPage({ next: pathOf(request) }), 401);
      return show(session.account, request);
    };

  async function redeem(token: string, request: RouteRequest): Promise<RouteReply> {
    const session = await accounts.redeemSignInToken(token);
    const next = pathOf(request);
    if (session !== undefined) return redirect(next, sessionCookie(session.session));
    const problem = 'This sign-in address was used before or is too old. Run "proctor open" for a new one.';
    return page(renderSignInPage({ next, problem }), 401);
  }

  async function signIn(request: RouteRequest): Promise<RouteReply> {
    const { key, next } = signInFormSchema.parse(request.body);
    const target = localPath(next);
    const caller = await accounts.verifyKey(key.trim());
    if (caller === undefined) {
      return page(renderSignInPage({ next: target, problem: 'This key is not known, or it was revoked.' }), 401);
    }
    const session = await accounts.createBrowserSession(caller.account);
    return redirect(target, sessionCookie(session.session));
  }

  async function showRuns(account: string, request: RouteRequest): Promise<RouteReply> {
    const cursor = request.query.get('cursor');
    const { data, nextCursor } = await store.list({
      account,
      limit: RUNS_PER_PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    const nextPage = nextCursor === null ? null : `/?${new URLSearchParams({ cursor: nextCursor })}`;
    return page(renderRunsPage({ traces: data, nextPage }));
  }

  async function showTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const trace = TRACE_ID_PATTERN.test(traceId) ? await store.trace(traceId, account) : undefined;
    return trace === undefined ? page(renderNotFoundPage(traceId), 404) : page(renderTracePage(trace));
  }

  return [
    { method: 'GET', path: '/', summary: 'The runs, as a page', access: 'page', handle: signedIn(showRuns) },
    {
      method: 'GET',
      path: '/traces/:trace_id',
      summary: 'A trace, as a page',
      access: 'page',
      handle: signedIn(showTrace),
    },
    {
      method: 'POST',
      path: '/sign-in',
      summary: 'Sign in a browser with an API key',
      access: 'page',
      request: signInFormSchema,
      handle: signIn,
    },
    {
      method: 'GET',
      path: '/assets/style.css',
      summary: 'The style of the pages',
      access: 'public',
      handle: () => ({
        headers: { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'public, max-age=300' },
        body: stylesheet,
      }),
    },
  ];
}

/** The address of this request without the token, for after the sign-in. */
function pathOf(request: RouteRequest): string {
  const traceId = request.params.trace_id;
  return traceId === undefined ? '/' : `/traces/${encodeURIComponent(traceId)}`;
}

/** A form field decides where the browser goes next: only to a page of ours. */
function localPath(next: string | undefined): string {
  return next !== undefined && /^\/(traces\/[0-9a-f]{32})?$/.test(next) ? next : '/';
}

function page(html: string, status = 200): RouteReply {
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
    body: html,
  };
}

function redirect(location: string, cookie: string): RouteReply {
  return {
    status: 303,
    headers: { location, 'set-cookie': cookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  };
}
