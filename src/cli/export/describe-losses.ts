import type { Loss } from '../../formats/losses.ts';
import { printable } from '../terminal.ts';

/** Characters of a longer path stay out of the width of the column. */
const MAX_WIDTH = 60;

/** A line for each field that was lost, by field: its path, in how many places, and why. */
export function describeLosses(lost: readonly Loss[]): string[] {
  const rows = lost.map(({ field, count, why }) => [printable(field), String(count), printable(why)] as const);
  const width = Math.min(MAX_WIDTH, Math.max(0, ...rows.map(([field]) => field.length)));
  const digits = Math.max(0, ...rows.map(([, count]) => count.length));
  return rows.map(([field, count, why]) => `lost: ${field.padEnd(width)}  ${count.padStart(digits)} ×  ${why}`);
}
