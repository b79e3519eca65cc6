import { toOneLine } from '../../../support/text/one-line-json.ts';

/** Characters of one chunk of a result. */
const MAX_CHUNK = 4_096;

/** Event that a running call sends, since clients give up after 30 s of silence. */
export const HEARTBEAT = ': ping\n\n';

/** One server-sent event. `data` must not contain a line break. */
export function toEvent(event: 'task_id' | 'chunk' | 'end' | 'error', data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/**
 * Writes a result as chunk events; joined, they are its JSON. Clients strip Unicode white space from the start of a
 * chunk, so a chunk that starts with white space gets its first character as an escape.
 */
export function toResultEvents(result: object): string {
  const pieces = cut(toOneLine(result));
  return pieces.map((piece, index) => toEvent(index === pieces.length - 1 ? 'end' : 'chunk', piece)).join('');
}

/** `JSON.stringify` leaves white space only inside of strings, where an escape means the same character. */
function cut(json: string): readonly string[] {
  const pieces: string[] = [];
  let from = 0;
  while (from < json.length) {
    const first = json.charAt(from);
    const isBlank = first.trim() === '';
    const start = isBlank ? `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}` : '';
    let to = Math.min(json.length, from + MAX_CHUNK - (isBlank ? start.length - 1 : 0));
    // A surrogate pair stays together: half of one is not valid UTF-8.
    if (to < json.length && isHighSurrogate(json.charCodeAt(to - 1))) to -= 1;
    pieces.push(start + json.slice(isBlank ? from + 1 : from, to));
    from = to;
  }
  return pieces;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
