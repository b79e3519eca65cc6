/** A piece of code, and what it is. */
export interface CodeToken {
  readonly kind: 'plain' | 'comment' | 'string' | 'number' | 'keyword';
  readonly text: string;
}

/** Longer texts are shown without colours. In characters. */
const LONGEST = 20_000;

const KEYWORDS = new Set(
  (
    'and as async await break case catch class const continue def default del do done elif else end enum esac except export ' +
    'extends False fi finally fn for from func function if impl implements import in interface is lambda let local match mod ' +
    'new nil None not null or package pass private protected pub public raise return select self static struct super switch ' +
    'then this throw trait True true false try type typeof undefined use var void where while with yield ' +
    'SELECT FROM WHERE INSERT INTO UPDATE DELETE SET VALUES JOIN LEFT INNER ON GROUP ORDER BY LIMIT AND OR NOT NULL CREATE TABLE'
  ).split(' '),
);

/** Comments, strings, numbers and words, as most languages write them. A `#` begins a comment at the start of a word alone. */
const TOKEN =
  /(\/\/[^\n]*|\/\*[\s\S]*?\*\/|(?<=^|\s)#(?![[!])[^\n]*|^[ \t]*--\s[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<![\w$])(\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?)\b|([A-Za-z_$][\w$]*)/gm;

/** Colours for code of whatever language: near enough to be read, never an interpretation of it. */
export function highlight(code: string): readonly CodeToken[] {
  if (code.length > LONGEST) return [{ kind: 'plain', text: code }];
  const tokens: CodeToken[] = [];
  let from = 0;
  for (const match of code.matchAll(TOKEN)) {
    const [text, comment, string, number, word] = match;
    const kind =
      comment !== undefined
        ? 'comment'
        : string !== undefined
          ? 'string'
          : number !== undefined
            ? 'number'
            : word !== undefined && KEYWORDS.has(word)
              ? 'keyword'
              : 'plain';
    if (kind === 'plain') continue;
    if (match.index > from) tokens.push({ kind: 'plain', text: code.slice(from, match.index) });
    tokens.push({ kind, text });
    from = match.index + text.length;
  }
  if (from < code.length) tokens.push({ kind: 'plain', text: code.slice(from) });
  return tokens;
}
