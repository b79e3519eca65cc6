import stringWidth from 'string-width';

/** Width of a text in terminal cells: 2 for wide characters and emoji, 0 for combining marks and colour codes. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

/** The text cut to a number of terminal cells. `…` marks a cut. */
export function cutToWidth(text: string, cells: number): string {
  if (displayWidth(text) <= cells) return text;
  let shown = '';
  let width = 0;
  // A symbol of several code points, such as a flag, is kept or dropped as a whole.
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    width += displayWidth(segment);
    if (width > cells - 1) break;
    shown += segment;
  }
  return cells < 1 ? '' : `${shown}…`;
}

/** The text padded with spaces to a number of terminal cells. */
export function padToWidth(text: string, cells: number): string {
  return text + ' '.repeat(Math.max(0, cells - displayWidth(text)));
}
