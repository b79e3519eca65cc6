import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';

/**
 * No script at all, and nothing from anywhere else: whatever a model or a tool wrote is text on these pages. Styles are
 * one file of our own; inline styles are refused too.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export interface PageProps {
  readonly title: string;
  /** Seconds until the browser loads the page again; for what is still going on. */
  readonly refreshSeconds?: number;
  readonly children: ComponentChildren;
}

/** A whole HTML document. */
export function renderPage(props: PageProps): string {
  return `<!doctype html>${renderToString(<Page {...props} />)}`;
}

function Page({ title, refreshSeconds, children }: PageProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        {refreshSeconds === undefined ? null : <meta http-equiv="refresh" content={String(refreshSeconds)} />}
        <title>{`${title} · Proctor`}</title>
        <link rel="stylesheet" href="/assets/style.css" />
      </head>
      <body>
        <header class="bar">
          <a href="/" class="brand">
            Proctor
          </a>
        </header>
        <main>{children}</main>
      </body>
    </html>
  );
}
