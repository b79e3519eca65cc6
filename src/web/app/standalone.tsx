import { render } from 'preact';
import type { KeptTrace } from '../trace-data.ts';
import { Brand } from './components/icons.tsx';
import { ThemeSwitch } from './components/theme-switch.tsx';
import { revealEveryText } from './reveal-text.ts';
import { applyKeptTheme } from './theme.ts';
import { isShownType } from './trace/steps/pictures.ts';
import { Timeline } from './trace/timeline.ts';
import { TraceView } from './trace/trace-view.tsx';
import './style/main.css';

applyKeptTheme();
revealEveryText();
const root = document.getElementById('app');
const text = document.getElementById('trace')?.textContent;
if (root !== null && text) show(root, JSON.parse(text));

function show(element: HTMLElement, { trace, events, blobs }: KeptTrace): void {
  const timeline = new Timeline();
  for (const event of events) timeline.add(event);
  const blobAddress = (sha256: string) => {
    const blob = blobs[sha256];
    return blob === undefined || !isShownType(blob.mimeType) ? 'data:,' : `data:${blob.mimeType};base64,${blob.data}`;
  };
  const state = { trace, attempts: timeline.attempts(), pending: undefined, phase: 'ended' } as const;
  render(
    <>
      <header class="app-header">
        <span class="brand">
          <Brand /> Proctor
        </span>
        <span class="app-header-end">
          <span class="quiet">A kept trace</span>
          <ThemeSwitch />
        </span>
      </header>
      <main id="main">
        <TraceView state={state} actions={null} blobAddress={blobAddress} />
      </main>
    </>,
    element,
  );
}
