import type { TraceTotals } from '../../../contract/service/totals.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { grouped, moneyText, rewardText, shareText } from '../../../support/text/figures.ts';

const BAR = { width: 18, height: 48, gap: 4 } as const;

export interface TotalsPanelProps {
  readonly totals: TraceTotals;
  /** The runs of this page of the list, whose costs are added up: the server does not. */
  readonly listed: readonly TraceSummary[];
}

/** Sums of all runs that match the filters. */
export function TotalsPanel({ totals, listed }: TotalsPanelProps) {
  const { count, by_status, mean_reward, pass_rate, tokens, histogram } = totals;
  const statuses = Object.entries(by_status).filter(([, number]) => number > 0);
  return (
    <dl class="run-totals">
      <div>
        <dt>Runs</dt>
        <dd class="totals-count">{grouped(count)}</dd>
        <dd class="quiet">{statuses.map(([status, number]) => `${grouped(number)} ${status}`).join(' · ')}</dd>
      </div>
      <div>
        <dt>Pass rate</dt>
        <dd class="totals-count">{shareText(pass_rate)}</dd>
        <dd class="quiet">a reward of 1 or more</dd>
      </div>
      <div>
        <dt>Mean reward</dt>
        <dd class="totals-count">{rewardText(mean_reward)}</dd>
        <dd class="quiet">{describeRewarded(totals)}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd class="totals-count">{grouped(tokens.total)}</dd>
        <dd class="quiet">{`${grouped(tokens.prompt)} in · ${grouped(tokens.completion)} out`}</dd>
      </div>
      <Cost listed={listed} />
      <div>
        <dt>Rewards, 0 to 1</dt>
        <dd>
          <Histogram counts={histogram} />
        </dd>
      </div>
    </dl>
  );
}

/** Number of runs behind the mean: failed, cancelled and unfinished runs have no reward. */
function describeRewarded({ count, with_reward }: TraceTotals): string {
  if (count === with_reward) return `over all ${grouped(count)}`;
  return `over ${grouped(with_reward)} of ${grouped(count)}: ${grouped(count - with_reward)} without a reward`;
}

/** Nothing where no run has a cost. What is not known is not taken for nothing: it says of how many runs it speaks. */
function Cost({ listed }: { readonly listed: readonly TraceSummary[] }) {
  const costs = listed.map(({ usage }) => usage.cost_usd).filter((cost) => cost !== null);
  if (costs.length === 0) return null;
  return (
    <div>
      <dt>Cost on this page</dt>
      <dd class="totals-count">{moneyText(costs.reduce((sum, cost) => sum + cost, 0))}</dd>
      <dd class="quiet">{`known of ${grouped(costs.length)} of ${grouped(listed.length)} runs`}</dd>
    </div>
  );
}

function Histogram({ counts }: { readonly counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const width = counts.length * (BAR.width + BAR.gap);
  const told = counts.map((count, tenth) => `${tenth / 10} to ${(tenth + 1) / 10}: ${count}`).join(', ');
  return (
    <svg class="histogram" viewBox={`0 0 ${width} ${BAR.height}`} width={width} height={BAR.height} role="img">
      <title>{`Runs by reward. ${told}`}</title>
      {counts.map((count, tenth) => {
        const height = count === 0 ? 1 : Math.max(2, (count / most) * BAR.height);
        return (
          <rect
            key={tenth}
            x={tenth * (BAR.width + BAR.gap)}
            y={BAR.height - height}
            width={BAR.width}
            height={height}
          />
        );
      })}
    </svg>
  );
}
