/** A table of Markdown. Cells are Markdown already, but for the bars in them. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [toLine(head), toLine(head.map(() => '---')), ...rows.map(toLine)].join('\n');
}

/** Plain text as Markdown: names in angle brackets are no HTML. */
export function escapeText(text: string): string {
  return text.replace(/<(?=[\w/])/g, '\\<').replace(/(?<![\w`])_(?=\w)|\*/g, '\\$&');
}
