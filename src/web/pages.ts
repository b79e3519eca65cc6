import { readFileSync } from 'node:fs';
import type { Accounts } from '../accounts/accounts.ts';
import { TRACE_ID_PATTERN } from '../contract/names.ts';
import type { Route, RouteReply, RouteRequest } from '../http/route.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import type { RunsPath } from './layout.tsx';
import { renderNotFoundPage } from './not-found-page.tsx';
import { pageReply } from './page-reply.ts';
import { renderRunsPage } from './runs-page.tsx';
import { createSignIn } from './sign-in.ts';
import { renderTracePage } from './trace-page.tsx';

export interface PagesOptions {
  readonly store: TraceStore;
  readonly accounts: Accounts;
  /** Of the list of runs. Default `/`. */
  readonly runsPath?: RunsPath;
}

const RUNS_PER_PAGE = 50;

/**
 * The pages (contract section 4): the runs at `/` (or where `runsPath` says), a trace at `/traces/{trace_id}`. Nothing is shown without a
 * signed-in browser.
 */
export function createPages({ store, accounts, runsPath = '/' }: PagesOptions): readonly Route[] {
  const stylesheet = readFileSync(new URL('./style.css', import.meta.url), 'utf8');
  const signIn = createSignIn(accounts);

  async function showRuns(account: string, request: RouteRequest): Promise<RouteReply> {
    const cursor = request.query.get('cursor');
    const { data, nextCursor } = await store.list({
      account,
      limit: RUNS_PER_PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    const nextPage = nextCursor === null ? null : `${runsPath}?${new URLSearchParams({ cursor: nextCursor })}`;
    return pageReply(renderRunsPage({ traces: data, nextPage, runsPath }));
  }

  async function showTrace(account: string, request: RouteRequest): Promise<RouteReply> {
    const traceId = request.params.trace_id ?? '';
    const trace = TRACE_ID_PATTERN.test(traceId) ? await store.trace(traceId, account) : undefined;
    if (trace === undefined) return pageReply(renderNotFoundPage(traceId, runsPath), 404);
    return pageReply(renderTracePage(trace, runsPath));
  }

  return [
    {
      method: 'GET',
      path: runsPath,
      summary: 'The runs, as a page',
      access: 'page',
      handle: signIn.guard(showRuns, runsPath),
    },
    {
      method: 'GET',
      path: '/traces/:trace_id',
      summary: 'A trace, as a page',
      access: 'page',
      handle: signIn.guard(showTrace),
    },
    ...signIn.routes,
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
