import type { FindingCounts, FindingLevel } from '../../../contract/check.ts';
import { formatCountOf } from '../../format.ts';

/** The worst first. */
export const LEVELS: readonly FindingLevel[] = ['error', 'warning', 'note'];

/** `2 errors · 1 warning`; without findings, that there are none. */
export function Counts({ counts }: { readonly counts: FindingCounts }) {
  const found = LEVELS.filter((level) => counts[level] > 0);
  if (found.length === 0) return <span class="check-counts good">no findings</span>;
  return (
    <span class="check-counts">
      {found.map((level) => (
        <span key={level} class={`badge level-${level}`}>
          {formatCountOf(counts[level], level)}
        </span>
      ))}
    </span>
  );
}
