/** The style of the playground: the colours of the trace pages. */
export const PLAYGROUND_STYLE = `
:root { color-scheme: light dark; --ground: #fbfbfa; --surface: #fff; --line: #dcdcd8; --ink: #1d1f21; --quiet: #62666b;
  --link: #0b5cad; --on-link: #fff; --good: #17723a; --fair: #8a5a00; --bad: #b3261e; --code: #f3f3f0; --mine: #e8f0f9; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #141618; --surface: #1c1f22; --line: #34393e; --ink: #e7e9ea; --quiet: #a0a6ac; --link: #7db8f0;
    --on-link: #10202f; --good: #6fce8e; --fair: #e2b35a; --bad: #f28b82; --code: #23272b; --mine: #1e2b38; }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
.bar { display: flex; gap: 10px; align-items: baseline; padding: 10px 20px; background: var(--surface); border-bottom: 1px solid var(--line); }
.brand { color: var(--ink); font-weight: 650; text-decoration: none; }
main { display: grid; grid-template-columns: 330px minmax(0, 1fr); gap: 28px; max-width: 1180px; margin: 0 auto; padding: 20px 20px 0; align-items: start; }
.setup { position: sticky; top: 16px; max-height: calc(100vh - 32px); overflow: auto; padding: 16px; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.chat { display: flex; flex-direction: column; min-width: 0; min-height: calc(100vh - 70px); }
@media (max-width: 800px) {
  main { grid-template-columns: minmax(0, 1fr); gap: 16px; padding: 12px 12px 0; }
  .setup { position: static; max-height: none; }
  .chat { min-height: 50vh; }
  #empty { display: none; }
}
h1 { margin: 0 0 10px; font-size: 18px; overflow-wrap: anywhere; }
h2, h3 { margin: 0; font-size: 13px; font-weight: 600; color: var(--quiet); }
h3 { margin-top: 8px; }
.quiet, .about { color: var(--quiet); font-weight: 400; overflow-wrap: anywhere; }
.about, label .quiet { font-size: 13px; }
.about { margin: 2px 0 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
label { display: block; margin-top: 12px; font-weight: 600; overflow-wrap: anywhere; }
#about { margin: 4px 0 0; white-space: pre-line; }
input, select, textarea { display: block; width: 100%; margin-top: 3px; padding: 7px 9px; font: inherit; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; }
textarea { resize: vertical; min-height: 38px; field-sizing: content; max-height: 40vh; }
[data-kind="json"], #arguments-json, code, pre { font: 13px/1.45 ui-monospace, monospace; }
[aria-invalid] { border-color: var(--bad); }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
button { padding: 6px 13px; border: 1px solid var(--line); border-radius: 6px; background: var(--surface); color: var(--ink); font: 600 14px system-ui, sans-serif; cursor: pointer; }
button.main { border-color: var(--link); background: var(--link); color: var(--on-link); }
button.plain { padding-left: 0; padding-right: 0; border-color: transparent; background: none; color: var(--link); font-weight: 400; }
button.small { margin-top: 6px; font-size: 13px; }
button:disabled { opacity: .5; cursor: default; }
#choices > button { width: 100%; margin-top: 16px; }
#start details { margin-top: 12px; }
summary { cursor: pointer; color: var(--quiet); }
.actions { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 8px 0 0; }
.space { flex: 1; }
.problem { margin: 8px 0 0; padding: 9px 12px; color: var(--bad); border: 1px solid currentColor; border-radius: 6px; white-space: pre-line; overflow-wrap: anywhere; }
#again { margin-top: 10px; }
dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 4px 12px; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
#empty { margin: 12vh auto 0; max-width: 46ch; text-align: center; }
#log { display: flex; flex-direction: column; gap: 10px; outline: none; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.bubble { max-width: 46em; padding: 9px 13px; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
.bubble.user { align-self: flex-end; min-width: 120px; background: var(--mine); }
.bubble.prompt { border-style: dashed; }
.folded, .tool { max-width: 46em; padding: 5px 13px; border-left: 3px solid var(--line); }
.tool.good { border-color: var(--good); }
.tool.bad { border-color: var(--bad); }
.tool summary { overflow-wrap: anywhere; }
.tool summary > .quiet { font: 13px/1.45 ui-monospace, monospace; }
.tool summary code { color: var(--ink); font-weight: 600; }
.tool .state { font-size: 13px; }
.tool.bad .state { color: var(--bad); }
.outcome { display: block; padding-left: 18px; font-size: 13px; }
.outcome::before { content: '→ '; }
pre { margin: 4px 0 0; padding: 8px 10px; max-height: 420px; overflow: auto; background: var(--code); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
img { display: block; max-width: 100%; margin-top: 8px; border: 1px solid var(--line); border-radius: 6px; }
.note { margin: 0; max-width: 46em; color: var(--quiet); }
.note.problem { color: var(--bad); }
.reward { padding: 14px 16px; max-width: 46em; background: var(--surface); border: 1px solid var(--line); border-left: 5px solid var(--bad); border-radius: 10px; }
.reward .number { margin: 0; font-size: 34px; font-weight: 700; line-height: 1.2; color: var(--bad); }
.reward.good { border-left-color: var(--good); }
.reward.good .number { color: var(--good); }
.reward.fair { border-left-color: var(--fair); }
.reward.fair .number { color: var(--fair); }
.reward p { margin: 6px 0 0; }
.reward ul { margin: 4px 0 0; padding-left: 20px; }
.reward details { margin-top: 8px; }
#state { margin: 0; padding: 8px 0; }
#state:empty { padding: 0; }
.busy #state::before { content: ''; display: inline-block; width: 9px; height: 9px; margin-right: 8px; border-radius: 50%; background: var(--link); animation: pulse 1.2s ease-in-out infinite; }
@keyframes pulse { 50% { opacity: .25; } }
@media (prefers-reduced-motion: reduce) { .busy #state::before { animation: none; } }
.foot { position: sticky; bottom: 0; margin-top: auto; padding-bottom: 16px; background: var(--ground); }
#say, #submit { padding: 10px 0 0; border-top: 1px solid var(--line); }
#submit label { margin-top: 0; }
#answer-schema { margin-top: 8px; }
#answer-schema pre { max-height: 24vh; }
`;
