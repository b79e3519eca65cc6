import type { TraceSummary } from '../contract/trace.ts';
import { formatReward } from './format.ts';

export function Reward({ reward, title }: { readonly reward: number | null; readonly title?: string }) {
  const kind = reward === null ? 'none' : reward >= 1 ? 'full' : reward > 0 ? 'part' : 'zero';
  return (
    <span class={`reward ${kind}`} title={title}>
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
  const detail = stopReason === null || stopReason === status ? '' : ` · ${stopReason}`;
  return <span class={`status ${status}`}>{`${status}${detail}`}</span>;
}
