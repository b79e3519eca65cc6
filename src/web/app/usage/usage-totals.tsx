import type { UsageGroup } from '../../../contract/totals.ts';
import { formatCount, formatDuration } from '../../format.ts';

type Figure = 'runs' | 'model_calls' | 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'compute_seconds';

/** Sums over all groups. */
export function UsageTotals({ groups }: { readonly groups: readonly UsageGroup[] }) {
  const sum = (figure: Figure) => groups.reduce((total, group) => total + group[figure], 0);
  return (
    <dl class="usage-totals">
      <div>
        <dt>Runs</dt>
        <dd class="usage-figure">{formatCount(sum('runs'))}</dd>
      </div>
      <div>
        <dt>Model calls</dt>
        <dd class="usage-figure">{formatCount(sum('model_calls'))}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd class="usage-figure">{formatCount(sum('total_tokens'))}</dd>
        <dd class="quiet">{`${formatCount(sum('prompt_tokens'))} in · ${formatCount(sum('completion_tokens'))} out`}</dd>
      </div>
      <div>
        <dt>Compute</dt>
        <dd class="usage-figure">{formatCompute(sum('compute_seconds'))}</dd>
      </div>
    </dl>
  );
}

const HOUR_S = 3_600;

/** Seconds as a person reads them: `12.3 s`, `4 min 10 s`, `31.5 h`. */
export function formatCompute(seconds: number): string {
  if (seconds >= HOUR_S) return `${(seconds / HOUR_S).toFixed(1)} h`;
  return formatDuration(Math.round(seconds * 1_000));
}
