import { render } from 'preact';
import { revealEveryText } from '../reveal-text.ts';
import { HelpersPage } from './helpers-page.tsx';

revealEveryText();
// A page that the browser kept while another was shown has lost its sessions.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
const root = document.getElementById('app');
const { mcp = '/mcp' } = document.documentElement.dataset;
if (root !== null) render(<HelpersPage endpoint={new URL(mcp, location.origin)} />, root);
