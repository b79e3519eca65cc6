import { HIDDEN_CHARACTERS } from '../text/hidden-characters.ts';

/** `1.25` → `1.25`, `1` → `1`, null → `–`: at most three decimals, none that say nothing. */
export function formatReward(reward: number | null): string {
  return reward === null ? '–' : String(Number(reward.toFixed(3)));
}

/** Milliseconds as a person reads them: `4 ms`, `1.3 s`, `2 min 5 s`. */
export function formatDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${milliseconds} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Dollars; fractions of a cent are kept where runs are that cheap. */
export function formatCost(usd: number): string {
  return `$${usd < 0.01 ? Number(usd.toPrecision(2)) : usd.toFixed(usd < 1 ? 3 : 2)}`;
}

/** `12345` → `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 step`, `12,345 steps`. */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** `2026-01-31 10:20:30` (UTC) of an ISO time. */
export function formatTime(iso: string | null): string {
  return iso === null ? '–' : iso.slice(0, 19).replace('T', ' ');
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
