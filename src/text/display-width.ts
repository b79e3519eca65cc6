import { stripVTControlCharacters } from 'node:util';

/** Ranges of East Asian wide characters and of emoji, which take two cells of a terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
/** Marks on the character before, and joiners. */
const WITHOUT_CELL = /^(?:\p{Mn}|\p{Me}|\u200c|\u200d)$/u;

/** Cells that a text takes in a terminal: two for wide characters, none for marks on others and for colours. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += cellsOf(character);
  return width;
}

/** The text without colours, cut to so many cells, with `…` where something is left out. */
export function cutToWidth(text: string, cells: number): string {
  if (displayWidth(text) <= cells) return text;
  let shown = '';
  let width = 0;
  for (const character of text) {
    width += cellsOf(character);
    if (width > cells - 1) break;
    shown += character;
  }
  return cells < 1 ? '' : `${shown}…`;
}

/** The text, with blanks behind it up to so many cells. */
export function padToWidth(text: string, cells: number): string {
  return text + ' '.repeat(Math.max(0, cells - displayWidth(text)));
}

function cellsOf(character: string): number {
  if (WITHOUT_CELL.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
