import { renderToString } from 'preact-render-to-string';
import { builtAssets } from './built-assets.ts';
import type { RunsPath } from './layout.tsx';

export interface ShellProps {
  /** What changes made from the page carry. */
  readonly csrfToken: string;
  readonly account: string;
  readonly runsPath: RunsPath;
}

/** The document in which the application starts (`web/app/main`). It holds no data of a run. */
export function renderShell(props: ShellProps): string {
  return `<!doctype html>${renderToString(<Shell {...props} />)}`;
}

function Shell({ csrfToken, account, runsPath }: ShellProps) {
  const { script, stylesheet } = builtAssets();
  return (
    <html lang="en" data-csrf={csrfToken} data-account={account} data-runs-path={runsPath}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Proctor</title>
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={stylesheet} />
        <script type="module" src={script} />
      </head>
      <body>
        <div id="app" />
        <noscript>
          <p class="noscript">
            These pages need JavaScript, which is switched off in this browser. Without it, traces are read with{' '}
            <code>npx proctor traces show</code> or over <code>GET /v1/traces</code>.
          </p>
        </noscript>
      </body>
    </html>
  );
}

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke="#4d78e8">' +
    '<rect x="1.5" y="1.5" width="17" height="17" rx="5" stroke-width="2"/>' +
    '<path d="M5.8 10.4l2.9 2.9 5.6-6.2" stroke-width="2.4"/></svg>',
)}`;
