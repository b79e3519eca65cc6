import type { UsageGroup } from '../../../contract/service/totals.ts';
import { durationText, grouped } from '../../../support/text/figures.ts';

type Figure = 'runs' | 'model_calls' | 'prompt_tokens' | 'completion_tokens' | 'total_tokens' | 'compute_seconds';

/** Sums over all groups. */
export function UsageTotals({ groups }: { readonly groups: readonly UsageGroup[] }) {
  const sum = (figure: Figure) => groups.reduce((total, group) => total + group[figure], 0);
  return (
    <dl class="usage-totals">
      <div>
        <dt>Runs</dt>
        <dd class="usage-figure">{grouped(sum('runs'))}</dd>
      </div>
      <div>
        <dt>Model calls</dt>
        <dd class="usage-figure">{grouped(sum('model_calls'))}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd class="usage-figure">{grouped(sum('total_tokens'))}</dd>
        <dd class="quiet">{`${grouped(sum('prompt_tokens'))} in · ${grouped(sum('completion_tokens'))} out`}</dd>
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
  return durationText(Math.round(seconds * 1_000));
}
