import { useEffect, useRef, useState } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { countText, rewardText } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { useResource } from '../use-resource.ts';
import { ModelTotals } from './model-totals.tsx';
import { isReferenceModel } from './reference-model.ts';

const RECENT_RUNS = 16;
/** Share of the height, so that a reward of 0 is visible. */
const LEAST_HEIGHT = 0.14;

interface Props {
  readonly envName: string;
  readonly scenarioName: string;
}

/** Rewards of the last runs of a scenario, oldest first, and totals by model. Loaded when it scrolls near. */
export function RecentRewards(props: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        setNear(true);
        observer.disconnect();
      },
      { rootMargin: '400px' },
    );
    if (place.current !== null) observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={place} class="recent-rewards">
      {isNear ? <Rewards {...props} /> : null}
    </div>
  );
}

function Rewards({ envName, scenarioName }: Props) {
  const filters = { env_name: envName, scenario_name: scenarioName };
  const { resource } = useResource(
    async (signal) => {
      const [{ data }, totals] = await Promise.all([
        service.traces.list({ ...filters, limit: RECENT_RUNS }, { signal }),
        service.traces.summary({ ...filters, group_by: 'model' }, { signal }),
      ]);
      return { traces: data.toReversed(), totals };
    },
    [envName, scenarioName],
  );
  if (resource.state === 'loading') return <span class="quiet small">…</span>;
  if (resource.state === 'failed') return <span class="quiet small">Its runs could not be read.</span>;
  const { traces, totals } = resource.value;
  if (traces.length === 0) return <span class="quiet small">No runs yet</span>;
  return (
    <>
      <div class="recent-runs">
        <ol class="reward-strip" aria-label="Rewards of the last runs, oldest first">
          {traces.map((trace) => (
            <li key={trace.trace_id}>
              <RewardBar trace={trace} />
            </li>
          ))}
        </ol>
        <a class="quiet small" href={`/?${new URLSearchParams(filters)}`}>
          {countText(totals.count, 'run')}
        </a>
      </div>
      <ModelTotals groups={totals.groups ?? []} filters={filters} />
    </>
  );
}

function RewardBar({ trace }: { readonly trace: TraceSummary }) {
  const { reward, status } = trace;
  const kind = reward === null ? (status === 'failed' ? 'failed' : 'none') : kindOf(reward);
  const height = reward === null ? 1 : Math.max(LEAST_HEIGHT, Math.min(1, reward));
  const label = `${reward === null ? status : `reward ${rewardText(reward)}`}, ${trace.model}, ${formatTime(trace.created_at)}`;
  return (
    <a
      class={`reward-bar ${kind} ${isReferenceModel(trace.model) ? 'reference' : ''}`}
      href={`/traces/${trace.trace_id}`}
      aria-label={label}
      title={label}
    >
      <span style={{ height: `${Math.round(height * 100)}%` }} />
    </a>
  );
}

function kindOf(reward: number): string {
  if (reward >= 1) return 'full';
  return reward > 0 ? 'part' : 'zero';
}
