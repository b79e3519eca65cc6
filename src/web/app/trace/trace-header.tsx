import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { HarnessUsage } from '../../../contract/chat.ts';
import { runningMs } from '../../../contract/running-time.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { countText, durationText, grouped, moneyText, rewardText } from '../../../support/text/figures.ts';
import { formatTime, preview } from '../../format.ts';
import { rewardKind, Status } from '../components/reward.tsx';
import { describeQueued } from '../components/running-time.tsx';
import type { TraceState } from './trace-feed.ts';

/** A run and its result, in figures. */
export function TraceHeader({
  trace,
  phase,
  actions,
  place,
}: {
  readonly trace: TraceSummary;
  readonly phase: TraceState['phase'];
  readonly actions: ComponentChildren;
  readonly place?: ComponentChildren;
}) {
  const { usage } = trace;
  return (
    <header class="trace-header">
      <div class={`big-reward ${rewardKind(trace.reward)}`}>
        <span class="big-reward-value">{rewardText(trace.reward)}</span>
        <span class="big-reward-name">reward</span>
      </div>
      <div class="trace-title">
        <h1>
          <span class="quiet">{`${trace.env_name} / `}</span>
          {trace.scenario_name}
        </h1>
        <p class="trace-what">
          <Status status={trace.status} stopReason={trace.stop_reason} />
          {phase === 'away' ? <span class="badge failed">connection lost, trying again</span> : null}
          <span>{trace.agent === undefined ? trace.model : `${trace.agent} with ${trace.model}`}</span>
          <span class="quiet">{`${formatTime(trace.created_at)} UTC`}</span>
          {trace.origin === 'run' ? null : <span class="quiet">{trace.origin}</span>}
        </p>
        {Object.keys(trace.scenario_args).length === 0 ? null : (
          <p class="trace-arguments">
            <code>{preview(trace.scenario_args, 240)}</code>
          </p>
        )}
        {place}
      </div>
      <div class="trace-actions">{actions}</div>
      <dl class="trace-totals">
        <Figure name="Steps" value={grouped(countSteps(trace))} more={describeSteps(trace)} />
        <Figure name="Tool calls" value={grouped(usage.tool_calls)} />
        <Figure
          name="Tokens in"
          value={grouped(usage.prompt_tokens)}
          more={usage.cached_tokens === 0 ? '' : `${grouped(usage.cached_tokens)} cached`}
        />
        <Figure
          name="Tokens out"
          value={grouped(usage.completion_tokens)}
          more={usage.reasoning_tokens === 0 ? '' : `${grouped(usage.reasoning_tokens)} reasoning`}
        />
        {usage.cost_usd === null ? null : <Figure name="Cost" value={moneyText(usage.cost_usd)} />}
        <HarnessCost name="User's cost" usage={usage.user} />
        <HarnessCost name="Judge's cost" usage={usage.judge} />
        <HarnessCost name="Samples' cost" usage={usage.sample} />
        <Figure name="Duration" value={<Duration trace={trace} />} more={describeQueued(trace)} />
        {trace.attempt === 1 ? null : <Figure name="Attempt" value={grouped(trace.attempt)} />}
      </dl>
    </header>
  );
}

/** The cost of a model of the harness, which is no part of the agent's. Nothing where none was asked. */
function HarnessCost({ name, usage }: { readonly name: string; readonly usage: HarnessUsage | undefined }) {
  if (usage === undefined || usage.model_calls === 0) return null;
  const calls = countText(usage.model_calls, 'call');
  return <Figure name={name} value={usage.cost_usd === null ? '–' : moneyText(usage.cost_usd)} more={calls} />;
}

function Figure({
  name,
  value,
  more = '',
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly more?: string;
}) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        {value}
        {more === '' ? null : <span class="figure-more">{` ${more}`}</span>}
      </dd>
    </div>
  );
}

/** The duration of a running run comes from this browser's clock. */
function Duration({ trace }: { readonly trace: TraceSummary }) {
  const [now, setNow] = useState(Date.now());
  const isLive = trace.finished_at === null;
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isLive]);
  const elapsedMs = (from: string) => Math.max(0, Math.floor((now - Date.parse(from)) / 1_000) * 1_000);
  if (isLive && trace.started_at === null) return <>{`${durationText(elapsedMs(trace.created_at))} in the queue`}</>;
  const ms = isLive && trace.started_at !== null ? elapsedMs(trace.started_at) : runningMs(trace);
  return <>{ms === null ? '–' : durationText(ms)}</>;
}

function countSteps({ turns }: TraceSummary): number {
  return turns.reduce((count, { steps }) => count + steps.length, 0);
}

/** Steps of another trace that were done again are no calls of a model. */
function describeSteps(trace: TraceSummary): string {
  const repeated = trace.parent === null ? 0 : Math.max(0, countSteps(trace) - trace.usage.model_calls);
  const most = `of ${grouped(trace.max_steps)}`;
  return repeated === 0 ? most : `${most}, ${grouped(repeated)} repeated`;
}
