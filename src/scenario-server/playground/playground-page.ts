import { createHash } from 'node:crypto';
import type { RouteReply } from '../../http/route.ts';
import { PLAYGROUND_SCRIPT } from './playground-script.ts';
import { PLAYGROUND_STYLE } from './playground-style.ts';

/**
 * The page of the playground. It is the same for everybody but for the token; what it shows it reads, and puts in as
 * text.
 */
export function playgroundReply(csrfToken: string): RouteReply {
  return { headers: HEADERS, body: renderPlayground(csrfToken) };
}

/** Nothing but our own script and style, and nothing from anywhere else. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${hashOf(PLAYGROUND_SCRIPT)}`,
  `style-src ${hashOf(PLAYGROUND_STYLE)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

function hashOf(content: string): string {
  return `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
}

/** `csrfToken` is base64url: there is nothing to escape. */
function renderPlayground(csrfToken: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Playground · Proctor</title>
<style>${PLAYGROUND_STYLE}</style>
</head>
<body data-csrf="${csrfToken}">
<header class="bar"><a class="brand" href="/">Proctor</a> <span class="quiet">Playground</span> <a href="/traces">Traces</a></header>
<main>
<section class="setup" aria-label="Session">
<form id="start" novalidate>
<h1>Start a session</h1>
<p id="loading" class="quiet" role="status">Reading the scenarios…</p>
<fieldset id="choices" hidden>
<label for="scenario">Scenario</label>
<select id="scenario"></select>
<p id="about" class="quiet"></p>
<div id="arguments"></div>
<label for="model">Model</label>
<input id="model" list="models" autocomplete="off" spellcheck="false">
<datalist id="models"></datalist>
<details>
<summary>More</summary>
<label for="max-steps">Steps of a turn <span class="quiet">at most</span></label>
<input id="max-steps" type="number" min="1" max="500" step="1" autocomplete="off">
<label for="first">First message <span class="quiet">optional, after the prompt</span></label>
<textarea id="first" rows="2"></textarea>
</details>
<button type="submit" class="main">Start</button>
</fieldset>
<div id="start-problem" class="problem" role="alert" hidden></div>
<button type="button" id="again" hidden>Try again</button>
</form>
<div id="session" hidden>
<h1 id="session-name"></h1>
<dl id="facts"></dl>
<p><a id="trace" target="_blank" rel="noopener">Open the trace</a></p>
<p class="actions"><button type="button" id="abandon" class="plain">Abandon</button> <button type="button" id="new" class="main" hidden>New session</button></p>
</div>
</section>
<section class="chat" aria-label="Conversation">
<p id="empty" class="quiet">Pick a scenario and start: what its prompt says, what the model answers and which tools it calls appear here.</p>
<div id="log" role="log" aria-live="polite" tabindex="-1"></div>
<div class="foot">
<p id="state" class="quiet" role="status"></p>
<form id="say" hidden>
<label for="message" class="hidden">Message</label>
<textarea id="message" rows="2" placeholder="Write to the model… (Enter sends, Shift+Enter breaks the line)"></textarea>
<p class="actions"><button type="submit" id="send" class="main">Send</button> <button type="button" id="stop" hidden>Stop</button> <span class="space"></span> <button type="button" id="finish">Finish…</button></p>
</form>
<form id="submit" hidden>
<label for="answer">Answer <span class="quiet" id="answer-hint"></span></label>
<textarea id="answer" rows="2"></textarea>
<details id="answer-schema" hidden><summary>What an answer has to look like</summary><pre></pre></details>
<p class="actions"><button type="submit" class="main">Submit and evaluate</button> <button type="button" id="back" class="plain">Back</button></p>
</form>
</div>
</section>
</main>
<script>${PLAYGROUND_SCRIPT}</script>
</body>
</html>
`;
}
