import { preview } from './format.ts';
import { renderPage } from './layout.tsx';

export function renderNotFoundPage(traceId: string, runsPath: string): string {
  return renderPage({
    title: 'No such trace',
    children: (
      <section class="card narrow">
        <h1>No such trace</h1>
        <p>
          There is no trace <code>{preview(traceId, 64)}</code> in this account.
        </p>
        <p>
          <a href={runsPath}>All runs</a>
        </p>
      </section>
    ),
  });
}
