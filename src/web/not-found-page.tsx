import { preview } from './format.ts';
import { type RunsPath, renderPage } from './layout.tsx';

export function renderNotFoundPage(traceId: string, runsPath: RunsPath): string {
  return renderPage({
    title: 'No such trace',
    runsPath,
    children: (
      <section class="card narrow">
        <h1>No such trace</h1>
        <p>
          There is no trace <code>{preview(traceId, 64)}</code> in this account.
        </p>
        <p>
          <a href={runsPath}>{runsPath === '/' ? 'All runs' : 'All traces'}</a>
        </p>
      </section>
    ),
  });
}
