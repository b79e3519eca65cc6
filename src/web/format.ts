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

/** `12345` → `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** `2026-01-31 10:20:30` (UTC) of an ISO time. */
export function formatTime(iso: string | null): string {
  return iso === null ? '–' : iso.slice(0, 19).replace('T', ' ');
}

export function formatJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined';
}

/** The lines of a multi-line string, or the JSON of anything else, cut for a heading. */
export function preview(value: unknown, length = 100): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
