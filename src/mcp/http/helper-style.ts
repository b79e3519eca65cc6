/** The style of the page of the development helpers. */
export const HELPER_STYLE = `
:root { color-scheme: light dark; --ground: #fbfbfa; --surface: #fff; --line: #dcdcd8; --ink: #1d1f21; --quiet: #62666b;
  --link: #0b5cad; --on-link: #fff; --good: #17723a; --bad: #b3261e; --code: #f3f3f0; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #141618; --surface: #1c1f22; --line: #34393e; --ink: #e7e9ea; --quiet: #a0a6ac;
    --link: #7db8f0; --on-link: #10202f; --good: #6fce8e; --bad: #f28b82; --code: #23272b; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header, main { max-width: 960px; margin: 0 auto; padding: 16px 20px; }
header { padding-bottom: 0; }
header p { margin: 4px 0; color: var(--quiet); }
nav a { margin-right: 14px; }
a { color: var(--link); }
h1 { margin: 0; font-size: 24px; overflow-wrap: anywhere; }
h2 { margin: 28px 0 10px; font-size: 18px; }
h3 { margin: 0; font-size: 15px; overflow-wrap: anywhere; }
h1 small, h2 small, .quiet, .about { color: var(--quiet); font-weight: 400; }
.about, label .quiet { font-size: 13px; }
article { margin: 0 0 12px; padding: 14px 16px; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
.description { margin: 2px 0 0; white-space: pre-line; overflow-wrap: anywhere; }
ul { margin: 6px 0; padding-left: 20px; }
li { overflow-wrap: anywhere; }
code, pre, textarea, input, select { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: 8px 0 0; padding: 10px 12px; max-height: 420px; overflow: auto; background: var(--code); border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin-top: 8px; }
summary { color: var(--quiet); cursor: pointer; }
form { margin-top: 10px; }
label { display: block; margin-bottom: 10px; }
label > span { display: block; overflow-wrap: anywhere; }
textarea, input, select { width: 100%; margin-top: 3px; padding: 7px 9px; color: inherit; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; }
textarea { display: block; resize: vertical; min-height: 35px; }
.actions { margin: 0; }
button { padding: 6px 13px; border: 1px solid var(--link); border-radius: 6px; background: var(--link); color: var(--on-link); font: 600 14px system-ui, sans-serif; cursor: pointer; overflow-wrap: anywhere; }
button.cancel, button.renew { background: none; color: var(--link); font-weight: 400; }
button.renew { padding: 1px 9px; }
button:disabled { opacity: .55; cursor: default; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
output { display: block; }
output > .state { margin: 10px 0 0; font-weight: 600; }
output > .good { color: var(--good); }
output > .bad { color: var(--bad); }
output img { display: block; max-width: 100%; margin-top: 8px; border: 1px solid var(--line); border-radius: 6px; }
output audio { display: block; width: 100%; margin-top: 8px; }
`;
