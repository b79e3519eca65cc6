import type { Loss } from '../../../contract/service/import.ts';
import { displayWidth, padToWidth } from '../../../support/text/display-width.ts';
import { printable } from '../../base/terminal.ts';

/** Longest path that counts for the width of the column. */
const MAX_WIDTH = 60;

/** One line for each lost field: its path, how often it occurred, and why it was lost. */
export function describeLosses(lost: readonly Loss[]): string[] {
  const rows = lost.map(({ field, count, why }) => [printable(field), String(count), printable(why)] as const);
  const width = Math.min(MAX_WIDTH, Math.max(0, ...rows.map(([field]) => displayWidth(field))));
  const digits = Math.max(0, ...rows.map(([, count]) => count.length));
  return rows.map(([field, count, why]) => `lost: ${padToWidth(field, width)}  ${count.padStart(digits)} ×  ${why}`);
}
