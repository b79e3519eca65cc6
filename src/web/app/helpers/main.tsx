import { config } from 'zod/v4/core';
import { applyKeptTheme } from '../theme.ts';
import '../style/helpers.css';

applyKeptTheme();
// The policy of the page forbids making code of texts. Zod would try whether it may as soon as the MCP client is loaded,
// and the browser would report that: so the rest is loaded after this.
config({ jitless: true });
void import('./start.tsx');
