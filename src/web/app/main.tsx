import { render } from 'preact';
import { App } from './app.tsx';
import { revealEveryText } from './reveal-text.ts';
import { applyKeptTheme } from './theme.ts';
import './style/main.css';

applyKeptTheme();
revealEveryText();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
