import type { ComponentChildren } from 'preact';
import { preview } from './format.ts';
import { type RunsPath, renderPage } from './layout.tsx';
import type { PageSubject } from './page-subjects.ts';

export function renderTraceNotFoundPage(traceId: string, runsPath: RunsPath): string {
  return renderSubjectNotFoundPage({ kind: 'trace', id: traceId }, runsPath);
}

export function renderSubjectNotFoundPage({ kind, id }: Pick<PageSubject, 'kind' | 'id'>, runsPath: RunsPath): string {
  return renderNothing(`No such ${kind}`, runsPath, [
    `There is no ${kind} `,
    <code key="id">{preview(id, 64)}</code>,
    ' in this account.',
  ]);
}

export function renderNotFoundPage(path: string, runsPath: RunsPath): string {
  return renderNothing('No such page', runsPath, [
    'There is nothing at ',
    <code key="path">{preview(path, 100)}</code>,
    ' of this server.',
  ]);
}

function renderNothing(title: string, runsPath: RunsPath, sentence: ComponentChildren): string {
  return renderPage({
    title,
    runsPath,
    children: (
      <section class="card narrow">
        <h1>{title}</h1>
        <p>{sentence}</p>
        <p>
          <a href={runsPath}>{runsPath === '/' ? 'All runs' : 'All traces'}</a>
        </p>
      </section>
    ),
  });
}
