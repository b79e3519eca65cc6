import type { EvaluationStatus } from '../../../contract/service/evaluation.ts';

export function StatusBadge({ status }: { readonly status: EvaluationStatus }) {
  return (
    <span class={`badge ${status}`}>
      <span class="dot" />
      {status}
    </span>
  );
}

/** Attempts that have ended of all. */
export function ProgressBar({ done, total }: { readonly done: number; readonly total: number }) {
  const percent = total === 0 ? 0 : Math.floor((done / total) * 100);
  return (
    <span
      class="progress-bar"
      role="progressbar"
      aria-label="Attempts that have ended"
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}
