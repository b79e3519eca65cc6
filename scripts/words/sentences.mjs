/**
 * Finds the sentences of a Markdown page: of its paragraphs, headings, items and cells, without code blocks and without
 * the addresses of links. Returns `{ line, text }`: the line where the sentence's block begins, counted from 1.
 */
export function findSentences(markdown) {
  return findBlocks(markdown).flatMap(({ line, text }) =>
    plain(text)
      .split(/(?<=[.!?][)"”*_]*)\s+(?=[\p{Lu}\p{N}`"“(*_[])/u)
      .map((sentence) => ({ line, text: sentence.trim() })),
  );
}

function findBlocks(markdown) {
  const blocks = [];
  let open;
  let fence;
  for (const [index, line] of markdown.split('\n').entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence !== undefined || mark !== undefined) {
      if (fence === undefined) fence = mark;
      else if (mark?.startsWith(fence)) fence = undefined;
      open = undefined;
    } else if (line.trim() === '') {
      open = undefined;
    } else if (/^\s*\|/.test(line)) {
      open = undefined;
      for (const cell of line.split(/(?<!\\)\|/)) if (cell.trim() !== '') blocks.push({ line: index + 1, text: cell });
    } else if (open === undefined || /^\s*([-*+]|\d+\.|#+|>)\s/.test(line)) {
      open = { line: index + 1, text: line };
      blocks.push(open);
    } else {
      open.text += `\n${line}`;
    }
  }
  return blocks;
}

const plain = (text) =>
  text
    .replace(/^\s*([-*+]|\d+\.|#+|>)\s+/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
