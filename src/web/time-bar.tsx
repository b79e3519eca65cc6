import type { Trace } from '../contract/trace.ts';
import { formatDuration } from './format.ts';

const PHASES = [
  ['queued_ms', 'queued'],
  ['environment_ms', 'environment'],
  ['setup_ms', 'setup'],
  ['model_ms', 'model'],
  ['tool_ms', 'tools'],
  ['evaluate_ms', 'evaluation'],
] as const;

/** Where the time went. Drawn as SVG, since the page allows no inline styles. */
export function TimeBar({ timing }: { readonly timing: Trace['timing'] }) {
  const total = Math.max(
    1,
    PHASES.reduce((sum, [key]) => sum + timing[key], 0),
  );
  let offset = 0;
  return (
    <figure class="time">
      <svg viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label="Time by phase">
        {PHASES.map(([key, label]) => {
          const width = (timing[key] / total) * 1000;
          const start = offset;
          offset += width;
          return <rect key={key} class={`phase-${label}`} x={start} y="0" width={width} height="12" />;
        })}
      </svg>
      <figcaption>
        {PHASES.map(([key, label]) => (
          <span key={key} class={`phase-${label}`}>{`${label} ${formatDuration(timing[key])}`}</span>
        ))}
        <strong>{`total ${formatDuration(timing.total_ms)}`}</strong>
      </figcaption>
    </figure>
  );
}
