/** Longer texts are cut first, to bound the time of the patterns below. */
const MAX_LENGTH = 16 * 1024;
/** Long runs of one character are shortened first: the patterns would scan to their end from each position. */
const RUNS: readonly (readonly [RegExp, string])[] = [
  [/\\{17,}/g, '\\'.repeat(16)],
  [/(?:\s|\\{1,16}[nrt]){64,}/g, '\n'],
];
/** Replacement for a path. */
const PATH = '[path]';

/** A line end, or its JSON escape, because texts appear quoted in other texts. */
const BREAK = String.raw`(?:\s|\\+[nrt])`;
/**
 * A position in a file at the end of a V8 stack frame. It contains no brackets, so that a match stays within one frame.
 */
const PLACE = String.raw`\((?:[^()\n]{0,500}:\d+|native|<anonymous>|index \d+|\[path\])\)`;

/** Stack traces of common languages. The sentence before or after a trace stays. */
const STACKS: readonly RegExp[] = [
  // "stack": "…" of a serialized error.
  /,?\s*\\*"(?:stack|stack_?trace|traceback|backtrace|exc_info)\\*"\s*:\s*(?:\\+"(?:[^"\\]|\\(?!")|\\\\+")*?\\+"|"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi,
  // Python, over several lines: all indented lines are part of the trace. The last line, which names the error, stays.
  /^[ \t]*Traceback \(most recent call last\):[ \t]*\n(?:[ \t]+.*(?:\n|$))*/gm,
  // Python on one line, or inside of JSON: up to the name of the error. A match never includes the next traceback, so
  // that matching takes linear time.
  /Traceback \(most recent call last\):(?:(?!Traceback \()[\s\S])*?(?:\s|\\+n)(?=[\w.]{0,100}(?:Error|Exception|Exit|Interrupt|Timeout|Warning): )/g,
  /(?:Traceback \(most recent call last\):|File \\*"[^"\\\n]{1,500}\\*", line \d+(?:, in \S+)?)/g,
  // Node.js and browsers: at Object.<anonymous> (/srv/index.js:10:5), at async Promise.all (index 0), at file:///x.js:1:2
  new RegExp(
    String.raw`(?:^|${BREAK}+)at (?:async |new |get |set )?[^\s()]{0,200}(?: \[as [^\]\n]{1,100}\])? ?${PLACE}`,
    'g',
  ),
  new RegExp(String.raw`${BREAK}+at (?:async )?(?:file:|node:|webpack|/|[A-Za-z]:[\\/])[^\s()"']{1,500}:\d+:\d+`, 'g'),
  // .NET: at Shop.Cart.Add(Item item) in C:\src\Cart.cs:line 10. Java: at shop.Cart.add(Cart.java:10)
  new RegExp(String.raw`${BREAK}+at [\w.$<>${'`'}]{1,200}\([^()\n]{0,300}\)(?: in [^\n]{1,300}?:line \d+)?`, 'g'),
  /\s*\.\.\. \d+ (?:more|common frames omitted)/g,
  // Go: everything after this is frames.
  /\s*goroutine \d+ \[[^\]\n]{1,50}\]:[\s\S]*$/g,
];

/**
 * Top-level folders of a machine or an image. They identify an absolute path, because `/v1/models` and `/docs` are
 * addresses.
 */
const ROOTS = [
  'Applications|Library|System|Users|Volumes',
  'app|bin|boot|build|builds|code|data|dev|etc|home|lib|lib32|lib64|media|mnt|nix|opt|private|proc|root|run|sbin',
  'snap|srv|sys|tmp|usr|var|work|workdir|workspace|workspaces|github',
].join('|');
/** One character of a path in a text. */
const IN_PATH = String.raw`[^\s"'${'`'}<>()\[\]{},;|\\]`;
/** Start of a path: not inside of an address, another path, or a word. */
const START = String.raw`(?<![\w:/.~@%?&\-])`;

const PATHS: readonly RegExp[] = [
  /\b(?:file|webpack|webpack-internal|app|vscode-file):\/\/[^\s"'`<>()]*/g,
  // A quoted path, whose folders may have spaces in their names.
  new RegExp(String.raw`(?<=(["'${'`'}]))/(?:${ROOTS})/[^"'${'`'}\n]{0,500}(?=\1)`, 'g'),
  new RegExp(`${START}/(?:${ROOTS})/${IN_PATH}*`, 'g'),
  // A path in any other folder, if it ends in a line number.
  new RegExp(String.raw`${START}/(?:[\w.@+\-]{1,100}/){1,30}[\w.@+\-]{1,100}\.\w{1,5}:\d+(?::\d+)?`, 'g'),
  /(?<=(["'`]))[A-Za-z]:\\+[^"'`\n]{0,500}(?=\1)/g,
  /\b[A-Za-z]:(?:\\+|\/(?!\/))[^\s"'`<>()|*?,;]*/g,
  /(?<![\w\\])\\{2,4}[\w.$-]{1,100}\\+[^\s"'`<>()|*?,;]+/g,
];

/**
 * Makes a text of another program, such as a gateway or an environment, fit for clients: removes stack traces, and
 * replaces absolute paths by `[path]`. Addresses of the web and of APIs stay.
 */
export function withoutMachineText(text: string): string {
  let cleaned = text.slice(0, MAX_LENGTH).replaceAll('\r\n', '\n');
  for (const [run, short] of RUNS) cleaned = cleaned.replace(run, short);
  for (const stack of STACKS) cleaned = cleaned.replace(stack, '');
  for (const path of PATHS) cleaned = cleaned.replace(path, withPunctuation);
  return cleaned
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim();
}

/** A full stop after a path belongs to the sentence and stays. */
function withPunctuation(path: string): string {
  return `${PATH}${/[.:!?]+$/.exec(path)?.[0] ?? ''}`;
}

/**
 * Makes a message of an environment or a gateway fit for clients: removes stack traces and paths of the machine. Paths
 * below the server's working directory become relative.
 */
export function toPublicMessage(message: string): string {
  const folder = process.cwd().replace(/\/*$/, '/');
  if (folder === '/') return withoutMachineText(message);
  return withoutMachineText(message.replaceAll(`file://${folder}`, '').replaceAll(folder, ''));
}
