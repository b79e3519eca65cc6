import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { builtAssets } from '../support/http/reply/built-assets.ts';
import { revealHidden } from './format.ts';

/** Where the list of traces is: at `/` of a run service; beside the playground, which is at `/` there, at `/traces`. */
export type RunsPath = '/' | '/traces';

export interface PageProps {
  readonly title: string;
  /** The browser loads the page again after these seconds, or another page of ours: for what is still going on. */
  readonly refresh?: { readonly seconds: number; readonly path?: string };
  /** The header leads to the pages that there are beside this list. Undefined: nowhere. */
  readonly runsPath?: RunsPath;
  readonly children: ComponentChildren;
}

/** A whole HTML document. Characters that hide or reorder text are shown by their names, wherever they are. */
export function renderPage(props: PageProps): string {
  return revealHidden(`<!doctype html>${renderToString(<Page {...props} />)}`);
}

function Page({ title, refresh, runsPath, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refresh === undefined ? null : <meta http-equiv="refresh" content={toContent(refresh)} />}
        <title>{`${title} · Proctor`}</title>
        <link rel="stylesheet" href={builtAssets().stylesheet} />
      </head>
      <body>
        <header class="bar">
          <a href="/" class="brand">
            Proctor
          </a>
          {runsPath === undefined ? null : <PageLinks runsPath={runsPath} />}
        </header>
        <main>{children}</main>
      </body>
    </html>
  );
}

const LINKS = {
  '/': [
    ['/', 'Runs'],
    ['/evaluations', 'Evaluations'],
    ['/environments', 'Environments'],
    ['/training', 'Training'],
    ['/usage', 'Usage'],
  ],
  '/traces': [
    ['/', 'Playground'],
    ['/traces', 'Traces'],
  ],
} as const;

function PageLinks({ runsPath }: { readonly runsPath: RunsPath }) {
  return (
    <nav aria-label="Pages">
      {LINKS[runsPath].map(([path, title]) => (
        <a key={path} href={path}>
          {title}
        </a>
      ))}
    </nav>
  );
}

function toContent({ seconds, path }: NonNullable<PageProps['refresh']>): string {
  return path === undefined ? String(seconds) : `${seconds}; url=${path}`;
}
