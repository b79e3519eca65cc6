import type { ComponentChildren } from 'preact';
import { preview } from './format.ts';
import { type RunsPath, renderPage } from './layout.tsx';

export function renderTraceNotFoundPage(traceId: string, runsPath: RunsPath): string {
  return renderNothing('No such trace', runsPath, [
    'There is no trace ',
    <code key="trace">{preview(traceId, 64)}</code>,
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
