import type { TraceSummary } from '../contract/trace.ts';
import { formatReward } from './format.ts';

export function Reward({ reward }: { readonly reward: number | null }) {
  const kind = reward === null ? 'none' : reward >= 1 ? 'full' : reward > 0 ? 'part' : 'zero';
  return (
    <span class={`reward ${kind}`} title={reward === null ? 'no reward' : `reward ${reward}`}>
      {formatReward(reward)}
    </span>
  );
}

export function Status({
  status,
  stopReason,
}: {
  readonly status: TraceSummary['status'];
  readonly stopReason: TraceSummary['stop_reason'];
}) {
  const isSaidAlready =
    stopReason === null || stopReason === status || stopReason === 'answered' || stopReason === 'error';
  const kind = isSaidAlready || status !== 'completed' ? status : 'stopped';
  return <span class={`status ${kind}`}>{isSaidAlready ? status : `${status} · ${stopReason}`}</span>;
}
