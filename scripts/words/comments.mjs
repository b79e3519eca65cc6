/**
 * Finds the paragraphs of the comments of TypeScript and TSX source. Line comments that follow each other on lines of their
 * own are one paragraph; a tag such as `@throws` begins a new one. Returns `{ line, text }`: the line where the paragraph
 * begins, counted from 1, and its words without comment markers and tag names.
 */
export function findComments(source) {
  return joinLines(source, scan(source)).flatMap(toParagraphs);
}

/** Start and end of each comment, in the order of the source. */
function scan(source) {
  const parts = [];
  const templates = []; // For each open `${`: how many braces are open within it.
  let last = ''; // The code before the current place, which tells a regular expression from a division.
  let at = 0;
  while (at < source.length) {
    const two = source.slice(at, at + 2);
    const char = source[at];
    if (two === '//') {
      const end = lineEnd(source, at);
      parts.push({ start: at, end, isLine: true });
      at = end;
    } else if (two === '/*') {
      const close = source.indexOf('*/', at + 2);
      const end = close < 0 ? source.length : close + 2;
      parts.push({ start: at, end, isLine: false });
      at = end;
    } else if (char === '"' || char === "'") {
      at = stringEnd(source, at);
      last = char;
    } else if (char === '/' && opensRegExp(last)) {
      at = regExpEnd(source, at);
      last = '/';
    } else if (char === '`' || (char === '}' && templates.at(-1) === 0)) {
      if (char === '}') templates.pop();
      at = templateEnd(source, at + 1);
      if (source.slice(at - 2, at) === '${') templates.push(0);
      last = '`';
    } else {
      if (templates.length > 0 && char === '{') templates[templates.length - 1] += 1;
      if (templates.length > 0 && char === '}') templates[templates.length - 1] -= 1;
      if (!/\s/.test(char))
        last = /\w/.test(char) && /\w$/.test(last) && /\w/.test(source[at - 1] ?? '') ? last + char : char;
      at += 1;
    }
  }
  return parts;
}

const lineEnd = (source, from) => {
  const end = source.indexOf('\n', from);
  return end < 0 ? source.length : end;
};

/** A string never crosses a line, so that an apostrophe in JSX text spoils no more than its own line. */
function stringEnd(source, from) {
  const end = lineEnd(source, from);
  for (let at = from + 1; at < end; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === source[from]) return at + 1;
  }
  // JSX text: the apostrophe is no string, and a comment may follow on this line.
  return from + 1;
}

function templateEnd(source, from) {
  for (let at = from; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '`') return at + 1;
    else if (source[at] === '$' && source[at + 1] === '{') return at + 2;
  }
  return source.length;
}

/** After a value a slash divides; `</` and `/>` of JSX follow `<` and values. */
function opensRegExp(last) {
  if (last === '' || /^(return|case|typeof|in|of|yield|await|void|delete|throw|else|do)$/.test(last)) return true;
  return /[([{,;=:?!&|+\-*%~^>]$/.test(last);
}

function regExpEnd(source, from) {
  const end = lineEnd(source, from);
  let isInClass = false;
  for (let at = from + 1; at < end; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === '[') isInClass = true;
    else if (source[at] === ']') isInClass = false;
    else if (source[at] === '/' && !isInClass) return at + 1;
  }
  return from + 1;
}

function joinLines(source, parts) {
  const comments = [];
  let before;
  for (const part of parts) {
    const isAlone = source.slice(source.lastIndexOf('\n', part.start - 1) + 1, part.start).trim() === '';
    const isNext = before !== undefined && /^[ \t]*\r?\n[ \t]*$/.test(source.slice(before.end, part.start));
    const lines = source.slice(part.start, part.end).split('\n').map(withoutMarkers);
    if (part.isLine && isAlone && before?.isLine && before.isAlone && isNext) comments.at(-1).lines.push(...lines);
    else comments.push({ line: source.slice(0, part.start).split('\n').length, lines });
    before = { ...part, isAlone };
  }
  return comments;
}

function toParagraphs({ line, lines }) {
  const paragraphs = [];
  let open;
  for (const [index, text] of lines.entries()) {
    if (text === '') {
      open = undefined;
    } else if (open !== undefined && !text.startsWith('@')) {
      open.text += ` ${text}`;
    } else {
      open = { line: line + index, text: withoutTag(text) };
      paragraphs.push(open);
    }
  }
  return paragraphs;
}

const withoutMarkers = (line) =>
  line
    .replace(/^\s*(\/\*\*?|\/\/+|\*(?!\/))/, '')
    .replace(/\*\/\s*$/, '')
    .trim();

const withoutTag = (text) => text.replace(/^@\w+\s*/, '');
