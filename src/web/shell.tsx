import { renderToString } from 'preact-render-to-string';
import { builtAssets } from '../support/http/reply/built-assets.ts';
import { PAGE_ICON } from '../support/http/reply/page-reply.ts';
import type { RunsPath } from './layout.tsx';

/** The first values of a scenario server's playground. */
export interface PlaygroundStart {
  /** The model of sessions that name none. */
  readonly model: string;
  /** The address of the run service beside it. Undefined: this server has the pages of its own traces alone. */
  readonly runService?: string | undefined;
}

export interface ShellProps {
  /** The token of changes made from the page. */
  readonly csrfToken: string;
  readonly account: string;
  readonly runsPath: RunsPath;
  /** Address of the playground. Undefined: it is at `/`, or missing. */
  readonly playground?: string | undefined;
  /** Settings of the playground at `/`. */
  readonly start?: PlaygroundStart | undefined;
}

/** The document in which the application starts (`web/app/main`). It holds no data of a run. */
export function renderShell(props: ShellProps): string {
  return `<!doctype html>${renderToString(<Shell {...props} />)}`;
}

function Shell({ csrfToken, account, runsPath, playground, start }: ShellProps) {
  const { script, stylesheet } = builtAssets();
  return (
    <html
      lang="en"
      data-csrf={csrfToken}
      data-account={account}
      data-runs-path={runsPath}
      data-playground={playground}
      data-model={start?.model}
      data-run-service={start?.runService}
    >
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Proctor</title>
        <link rel="icon" href={PAGE_ICON} />
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
