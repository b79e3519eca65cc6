import type { RunStatus } from '../../../contract/service/run.ts';
import type { StopReason } from '../../../contract/service/trace.ts';
import { rewardText } from '../../../support/text/figures.ts';

export type RewardKind = 'none' | 'full' | 'part' | 'zero';

export function rewardKind(reward: number | null): RewardKind {
  if (reward === null) return 'none';
  if (reward >= 1) return 'full';
  return reward > 0 ? 'part' : 'zero';
}

export function Reward({ reward }: { readonly reward: number | null }) {
  return (
    <span class={`reward ${rewardKind(reward)}`} title={reward === null ? 'No reward' : `Reward ${reward}`}>
      {rewardText(reward)}
    </span>
  );
}

/** Status, and the stop reason if the status does not say it. */
export function Status({ status, stopReason }: { readonly status: RunStatus; readonly stopReason: StopReason | null }) {
  const isSaidAlready =
    stopReason === null || stopReason === status || stopReason === 'answered' || stopReason === 'error';
  const kind = isSaidAlready || status !== 'completed' ? status : 'stopped';
  return (
    <span class={`badge ${kind}`}>
      <span class="dot" />
      {isSaidAlready ? status : `${status} · ${stopReason.replace('_', ' ')}`}
    </span>
  );
}
