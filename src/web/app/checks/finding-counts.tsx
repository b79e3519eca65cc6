import type { FindingCounts, FindingLevel } from '../../../contract/service/check.ts';
import { countText } from '../../../support/text/figures.ts';

/** Levels, the worst first. */
export const LEVELS: readonly FindingLevel[] = ['error', 'warning', 'note'];

/** Counts of findings: `2 errors · 1 warning`, or a text for none. */
export function Counts({ counts }: { readonly counts: FindingCounts }) {
  const found = LEVELS.filter((level) => counts[level] > 0);
  if (found.length === 0) return <span class="check-counts good">no findings</span>;
  return (
    <span class="check-counts">
      {found.map((level) => (
        <span key={level} class={`badge level-${level}`}>
          {countText(counts[level], level)}
        </span>
      ))}
    </span>
  );
}
