import { NO_FIGURE } from '../support/text/figures.ts';
import { HIDDEN_CHARACTERS } from '../support/text/hidden-characters.ts';

/** `2026-01-31 10:20:30` (UTC) of an ISO time. */
export function formatTime(iso: string | null): string {
  return iso === null ? NO_FIGURE : iso.slice(0, 19).replace('T', ' ');
}

/** A text, or the JSON of anything else, on one line and cut. */
export function preview(value: unknown, length = 100): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Shows hidden characters by their names, but those that lay text out. */
export function revealHidden(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, (character) => {
    if (LAYOUT.has(character)) return character;
    const code = character.codePointAt(0) ?? 0;
    return code < 0x20 ? String.fromCodePoint(CONTROL_PICTURES + code) : `[U+${toHex(code)}]`;
  });
}

const LAYOUT: ReadonlySet<string> = new Set(['\t', '\n', '\r']);
const CONTROL_PICTURES = 0x2400;

function toHex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}
