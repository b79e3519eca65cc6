/** Longer texts are cut first, so that the patterns below have an end. */
const MAX_LENGTH = 16 * 1024;
/** Longer runs are made short first, too: the patterns below try each of their places, and go to the end from there. */
const RUNS: readonly (readonly [RegExp, string])[] = [
  [/\\{17,}/g, '\\'.repeat(16)],
  [/(?:\s|\\{1,16}[nrt]){64,}/g, '\n'],
];
/** Stands for a path. */
const PATH = '[path]';

/** A line end, or the two characters that JSON writes for one: texts come quoted in other texts. */
const BREAK = String.raw`(?:\s|\\+[nrt])`;
/** A place in a file, as the frames of V8 end. Anything but brackets, so that one frame never takes in the next. */
const PLACE = String.raw`\((?:[^()\n]{0,500}:\d+|native|<anonymous>|index \d+|\[path\])\)`;

/** Stacks, in the forms that the usual languages print. What stays is the sentence before or after them. */
const STACKS: readonly RegExp[] = [
  // "stack": "…" of a serialized error.
  /,?\s*\\*"(?:stack|stack_?trace|traceback|backtrace|exc_info)\\*"\s*:\s*(?:\\+"(?:[^"\\]|\\(?!")|\\\\+")*?\\+"|"(?:[^"\\]|\\.)*"|\[[^\]]*\])/gi,
  // Python, line by line: all that is indented belongs to it. The last line, which names the error, does not.
  /^[ \t]*Traceback \(most recent call last\):[ \t]*\n(?:[ \t]+.*(?:\n|$))*/gm,
  // Python on one line, or inside JSON: up to the name of the error. Not into the next one, so that each place is read once.
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
  // Go: all that follows is frames.
  /\s*goroutine \d+ \[[^\]\n]{1,50}\]:[\s\S]*$/g,
];

/**
 * Folders at the top of a machine, or of an image. An absolute path is known by these, since `/v1/models` and `/docs` are
 * addresses.
 */
const ROOTS = [
  'Applications|Library|System|Users|Volumes',
  'app|bin|boot|build|builds|code|data|dev|etc|home|lib|lib32|lib64|media|mnt|nix|opt|private|proc|root|run|sbin',
  'snap|srv|sys|tmp|usr|var|work|workdir|workspace|workspaces|github',
].join('|');
/** One character of a path in a text. */
const IN_PATH = String.raw`[^\s"'${'`'}<>()\[\]{},;|\\]`;
/** Not inside an address, a path that goes on before, or a word. */
const START = String.raw`(?<![\w:/.~@%?&\-])`;

const PATHS: readonly RegExp[] = [
  /\b(?:file|webpack|webpack-internal|app|vscode-file):\/\/[^\s"'`<>()]*/g,
  // In quotes, where a folder may have blanks in its name.
  new RegExp(String.raw`(?<=(["'${'`'}]))/(?:${ROOTS})/[^"'${'`'}\n]{0,500}(?=\1)`, 'g'),
  new RegExp(`${START}/(?:${ROOTS})/${IN_PATH}*`, 'g'),
  // A path below any other folder, where a line is named.
  new RegExp(String.raw`${START}/(?:[\w.@+\-]{1,100}/){1,30}[\w.@+\-]{1,100}\.\w{1,5}:\d+(?::\d+)?`, 'g'),
  /(?<=(["'`]))[A-Za-z]:\\+[^"'`\n]{0,500}(?=\1)/g,
  /\b[A-Za-z]:(?:\\+|\/(?!\/))[^\s"'`<>()|*?,;]*/g,
  /(?<![\w\\])\\{2,4}[\w.$-]{1,100}\\+[^\s"'`<>()|*?,;]+/g,
];

/**
 * A text of somebody else's program (a gateway's, an environment's) as it may go to those who have no business with the
 * machine that it ran on: without stacks, and with `[path]` for each absolute path. Addresses of the web and of an API
 * stay, and so does the sentence.
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

/** The full stop after a path ends the sentence. */
function withPunctuation(path: string): string {
  return `${PATH}${/[.:!?]+$/.exec(path)?.[0] ?? ''}`;
}
