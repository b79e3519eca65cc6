import { useEffect, useState } from 'preact/hooks';
import { toTraceIds } from './compare/compare-path.ts';
import { navigate, onNavigate } from './navigate.ts';
import { pageSettings } from './page-settings.ts';

/** Address of the browser. A path outside of the application is left to the server. */
export type Place =
  | { readonly page: 'playground' }
  | { readonly page: 'runs'; readonly query: URLSearchParams }
  | { readonly page: 'trace'; readonly traceId: string }
  | { readonly page: 'compare'; readonly traceIds: readonly string[] }
  | { readonly page: 'regrade'; readonly jobId: string }
  | { readonly page: 'environments' }
  | { readonly page: 'environment'; readonly name: string }
  | { readonly page: 'evaluations'; readonly query: URLSearchParams }
  | { readonly page: 'evaluation'; readonly evaluationId: string; readonly query: URLSearchParams }
  | { readonly page: 'compare-evaluations'; readonly query: URLSearchParams }
  | { readonly page: 'training'; readonly query: URLSearchParams }
  | { readonly page: 'training-job'; readonly jobId: string }
  | { readonly page: 'models' }
  | { readonly page: 'model'; readonly name: string }
  | { readonly page: 'checks'; readonly query: URLSearchParams }
  | { readonly page: 'check'; readonly checkId: string }
  | { readonly page: 'usage'; readonly query: URLSearchParams };

/** Undefined for an address of the server that is no page of the application. */
function toPlace({ pathname, searchParams: query }: URL): Place | undefined {
  if (pathname === pageSettings.runsPath) return { page: 'runs', query };
  if (pathname === '/') return { page: 'playground' };
  const traceId = /^\/traces\/([0-9a-f]{32})$/.exec(pathname)?.[1];
  if (traceId !== undefined) return { page: 'trace', traceId };
  if (pathname === '/compare') return { page: 'compare', traceIds: toTraceIds(query.get('traces')) };
  if (pathname === '/environments') return { page: 'environments' };
  const name = /^\/environments\/([^/]+)$/.exec(pathname)?.[1];
  if (name !== undefined) return { page: 'environment', name: decodeURIComponent(name) };
  if (pathname === '/evaluations') return { page: 'evaluations', query };
  if (pathname === '/evaluations/compare') return { page: 'compare-evaluations', query };
  const evaluationId = /^\/evaluations\/(\w+)$/.exec(pathname)?.[1];
  if (evaluationId !== undefined) return { page: 'evaluation', evaluationId, query };
  if (pathname === '/training') return { page: 'training', query };
  const trainingId = /^\/training\/(\w+)$/.exec(pathname)?.[1];
  if (trainingId !== undefined) return { page: 'training-job', jobId: trainingId };
  const jobId = /^\/regrades\/(\w+)$/.exec(pathname)?.[1];
  if (jobId !== undefined) return { page: 'regrade', jobId };
  if (pathname === '/models') return { page: 'models' };
  const model = /^\/models\/([^/]+)$/.exec(pathname)?.[1];
  if (model !== undefined) return { page: 'model', name: decodeURIComponent(model) };
  if (pathname === '/checks') return { page: 'checks', query };
  const checkId = /^\/checks\/(\w+)$/.exec(pathname)?.[1];
  if (checkId !== undefined) return { page: 'check', checkId };
  if (pathname === '/usage') return { page: 'usage', query };
  return undefined;
}

/** The place, kept up to date. */
export function usePlace(): Place | undefined {
  const [href, setHref] = useState(location.href);
  useEffect(() => {
    const update = () => setHref(location.href);
    const stop = onNavigate(update);
    addEventListener('popstate', update);
    return () => {
      stop();
      removeEventListener('popstate', update);
    };
  }, []);
  return toPlace(new URL(href));
}

/** Links between pages of ours are ordinary links: a plain click on one does not load the document anew. */
export function followLinks(event: MouseEvent): void {
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!isPlain || event.defaultPrevented || link === null || link.target !== '' || link.hasAttribute('download'))
    return;
  const url = new URL(link.href, location.href);
  const isSamePage = url.pathname === location.pathname && url.search === location.search;
  if (url.origin !== location.origin || isSamePage || toPlace(url) === undefined) return;
  // The browser asks before it leaves a turn that runs, which it does for documents alone.
  if (toPlace(new URL(location.href))?.page === 'playground') return;
  event.preventDefault();
  navigate(`${url.pathname}${url.search}${url.hash}`);
}
