import type { Accounts } from '../accounts/accounts.ts';
import { csrfToken } from '../accounts/csrf.ts';
import { readSessionCookie } from '../accounts/session-cookie.ts';
import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Route, RouteReply, RouteRequest } from '../http/route.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import { ASSETS_PATH, builtAssets } from './built-assets.ts';
import type { RunsPath } from './layout.tsx';
import { renderNotFoundPage } from './not-found-page.tsx';
import { appReply, fileReply, pageReply } from './page-reply.ts';
import { renderShell } from './shell.tsx';
import { createSignIn } from './sign-in.ts';
import { renderStandalone } from './standalone-page.ts';
import { createTraceDataRoute } from './trace-data-route.ts';

export interface PagesOptions {
  readonly store: TraceStore;
  readonly accounts: Accounts;
  /** Of the list of runs. Default `/`: that of a run service, which has the pages of runs and environments too. */
  readonly runsPath?: RunsPath;
}

/** Pages of a run service alone: they need its routes. */
const RUN_SERVICE_PATHS = ['/environments', '/environments/:name', '/usage'] as const;

/**
 * The pages (contract section 4): the runs at `/` (or where `runsPath` says), a trace at `/traces/{trace_id}`. All of them
 * are one application, which asks this server for what it shows: the server that has the pages has the routes of
 * `trace-routes/`, too. Nothing is shown without a signed-in browser.
 *
 * @throws Error where the pages were never built.
 */
export function createPages({ store, accounts, runsPath = '/' }: PagesOptions): readonly Route[] {
  const assets = builtAssets();
  const signIn = createSignIn(accounts);

  function showApp(account: string, request: RouteRequest): RouteReply {
    const session = readSessionCookie(request.headers.cookie) ?? '';
    return appReply(renderShell({ csrfToken: csrfToken(session), account, runsPath }));
  }

  async function showTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const row = TRACE_ID_PATTERN.test(traceId) ? await store.row(traceId) : undefined;
    if (row?.account !== account) return pageReply(renderNotFoundPage(traceId, runsPath), 404);
    return showApp(account, request);
  }

  async function keepTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const html = TRACE_ID_PATTERN.test(traceId) ? await renderStandalone(store, traceId, account) : undefined;
    if (html === undefined) return pageReply(renderNotFoundPage(traceId, runsPath), 404);
    return fileReply(html, `trace-${traceId}.html`);
  }

  const page = (path: string, show: typeof showApp | typeof showTrace = showApp): Route => ({
    method: 'GET',
    path,
    summary: 'A page',
    access: 'page',
    handle: signIn.guard(async (account, request) => show(account, request), path),
  });
  return [
    page(runsPath),
    page('/compare'),
    page('/traces/:trace_id', showTrace),
    page('/traces/:trace_id/export', keepTrace),
    ...(runsPath === '/' ? RUN_SERVICE_PATHS.map((path) => page(path)) : []),
    ...signIn.routes,
    createTraceDataRoute(store),
    {
      method: 'GET',
      path: `${ASSETS_PATH}:file`,
      summary: 'Script and style of the pages, for everybody',
      access: 'page',
      handle: ({ params, headers }) => {
        const asset = assets.files.get(params.file ?? '');
        if (asset === undefined)
          throw new ApiError('unknown_url', `There is no ${ASSETS_PATH}${params.file?.slice(0, 100)}.`);
        const isGzip = /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''));
        return {
          headers: {
            'content-type': asset.contentType,
            'cache-control': 'public, max-age=31536000, immutable',
            vary: 'accept-encoding, origin',
            'cross-origin-resource-policy': 'same-origin',
            ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
          },
          body: isGzip ? asset.gzip : asset.bytes,
        };
      },
    },
  ];
}
