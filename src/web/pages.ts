import { ApiError } from '../contract/errors.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Accounts } from '../store/accounts/accounts.ts';
import { csrfToken } from '../store/accounts/csrf.ts';
import { readSessionCookie } from '../store/accounts/session-cookie.ts';
import type { Database } from '../store/database/database.ts';
import type { TraceStore } from '../store/traces/trace-store.ts';
import { type Route, type RouteReply, type RouteRequest, UNKNOWN_PATH } from '../support/http/api/route.ts';
import { ASSETS_PATH, assetReply, builtAssets } from '../support/http/reply/built-assets.ts';
import { appReply, fileReply, pageReply, redirectReply } from '../support/http/reply/page-reply.ts';
import { CellsCache } from './evaluations/cells-cache.ts';
import { createComparedTasksRoute } from './evaluations/compared-tasks-route.ts';
import { createEvaluationDataRoute } from './evaluations/evaluation-data-route.ts';
import type { RunsPath } from './layout.tsx';
import { renderNotFoundPage, renderSubjectNotFoundPage, renderTraceNotFoundPage } from './not-found-page.tsx';
import { subjectOf } from './page-subjects.ts';
import { playgroundAddress, type ServerPorts } from './playground-address.ts';
import { type PlaygroundStart, renderShell } from './shell.tsx';
import { createSignIn } from './sign-in.ts';
import { renderStandalone } from './standalone-page.ts';
import { createTraceDataRoute } from './trace-data-route.ts';

export interface PagesOptions {
  readonly store: TraceStore;
  readonly accounts: Accounts;
  /** That of the traces, for the pages of evaluations, which a run service has. */
  readonly database?: Database;
  /** Path of the list of runs. Default `/`, as in a run service. */
  readonly runsPath?: RunsPath;
  /** Serves the playground of a scenario server at `/`. Undefined: this server has none. */
  readonly playground?: PlaygroundStart;
  /** Ports of a process that serves the playground too, once both listen. */
  readonly ports?: () => ServerPorts | undefined;
}

const RUNS_NAMES: ReadonlySet<string> = new Set(['/runs', '/traces']);

/** Pages of a run service alone: they need its routes. */
const RUN_SERVICE_PATHS = [
  '/environments',
  '/environments/:name',
  '/evaluations',
  '/evaluations/compare',
  '/evaluations/:evaluation_id',
  '/training',
  '/training/:job_id',
  '/regrades/:job_id',
  '/models',
  '/models/:name',
  '/checks',
  '/checks/:check_id',
  '/usage',
] as const;

/**
 * The pages (contract section 4): the runs at `/` (or where `runsPath` says), a trace at `/traces/{trace_id}`. All of them
 * are one application, which asks this server for what it shows: the server that has the pages has the routes of
 * `trace-routes/`, too. Nothing is shown without a signed-in browser.
 *
 * @throws Error where the pages were never built.
 */
export function createPages(options: PagesOptions): readonly Route[] {
  const { store, accounts, database, runsPath = '/', playground, ports } = options;
  const assets = builtAssets();
  const signIn = createSignIn(accounts);

  function showApp(account: string, request: RouteRequest): RouteReply {
    const session = readSessionCookie(request.headers.cookie) ?? '';
    const address = playgroundAddress(request.headers.host, ports?.());
    return appReply(
      renderShell({ csrfToken: csrfToken(session), account, runsPath, playground: address, start: playground }),
    );
  }

  async function showTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const row = TRACE_ID_PATTERN.test(traceId) ? await store.row(traceId) : undefined;
    if (row?.account !== account) return pageReply(renderTraceNotFoundPage(traceId, runsPath), 404);
    return showApp(account, request);
  }

  async function keepTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const html = TRACE_ID_PATTERN.test(traceId) ? await renderStandalone(store, traceId, account) : undefined;
    if (html === undefined) return pageReply(renderTraceNotFoundPage(traceId, runsPath), 404);
    return fileReply(html, `trace-${traceId}.html`);
  }

  /** A page of one row of the database; without a database the page finds out by itself. */
  function showSubject(path: string): typeof showTrace {
    return async (account, request) => {
      const subject = subjectOf(path, request);
      if (subject !== undefined && database !== undefined && !(await subject.isThere(database, account))) {
        return pageReply(renderSubjectNotFoundPage(subject, runsPath), 404);
      }
      return showApp(account, request);
    };
  }

  /** Names under which somebody may look for the list of runs lead there. */
  async function showNothing(_account: string, { path, query }: RouteRequest): Promise<RouteReply> {
    if (RUNS_NAMES.has(path)) return redirectReply(query.size === 0 ? runsPath : `${runsPath}?${query}`);
    return pageReply(renderNotFoundPage(path, runsPath), 404);
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
    ...(playground === undefined ? [] : [page('/')]),
    page('/compare'),
    page('/traces/:trace_id', showTrace),
    page('/traces/:trace_id/export', keepTrace),
    ...(runsPath === '/' ? RUN_SERVICE_PATHS.map((path) => page(path, showSubject(path))) : []),
    {
      method: 'GET',
      path: UNKNOWN_PATH,
      summary: 'What a browser gets where there is nothing',
      access: 'page',
      handle: signIn.guard(showNothing, runsPath),
    },
    ...signIn.routes,
    createTraceDataRoute(store),
    ...(database === undefined ? [] : createEvaluationRoutes(database)),
    {
      method: 'GET',
      path: `${ASSETS_PATH}:file`,
      summary: 'Script and style of the pages, for everybody',
      access: 'page',
      handle: ({ params, headers }) => {
        const asset = assets.files.get(params.file ?? '');
        if (asset === undefined)
          throw new ApiError('unknown_url', `There is no ${ASSETS_PATH}${params.file?.slice(0, 100)}.`);
        return assetReply(asset, headers['accept-encoding']);
      },
    },
  ];
}

function createEvaluationRoutes(database: Database): readonly Route[] {
  const cache = new CellsCache(database);
  // An id would take the place of `compared`.
  return [createComparedTasksRoute(database, cache), createEvaluationDataRoute(database, cache)];
}
