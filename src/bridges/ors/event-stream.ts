import { toOneLine } from '../../text/one-line-json.ts';

/** Characters of one piece of a result. */
const MAX_CHUNK = 4_096;

/** Says that a call still runs: clients give up after 30 s of silence. */
export const HEARTBEAT = ': ping\n\n';

/** One event; its data has no line end. */
export function toEvent(event: 'task_id' | 'chunk' | 'end' | 'error', data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/**
 * A result as events: pieces that give its JSON when they are joined. Clients drop white space at the start of a piece,
 * any that Python knows: where one would begin so, its first character is written as an escape.
 */
export function toResultEvents(result: object): string {
  const pieces = cut(toOneLine(result));
  return pieces.map((piece, index) => toEvent(index === pieces.length - 1 ? 'end' : 'chunk', piece)).join('');
}

/** White space stands in JSON of `JSON.stringify` inside of texts alone, where an escape is the same character. */
function cut(json: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  while (from < json.length) {
    const first = json.charAt(from);
    const isBlank = first.trim() === '';
    const start = isBlank ? `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}` : '';
    let to = Math.min(json.length, from + MAX_CHUNK - (isBlank ? start.length - 1 : 0));
    // Half of a pair would not survive UTF-8.
    if (to < json.length && isHighSurrogate(json.charCodeAt(to - 1))) to -= 1;
    pieces.push(start + json.slice(isBlank ? from + 1 : from, to));
    from = to;
  }
  return pieces;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
