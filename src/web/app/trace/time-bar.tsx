import { useMemo } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { durationText } from '../../../support/text/figures.ts';
import { goTo } from './go-to.ts';
import { type Phase, toSegments, unfinishedMs } from './time-segments.ts';
import type { AttemptView } from './timeline.ts';

const PHASES: readonly (readonly [keyof TraceSummary['timing'], Phase, string])[] = [
  ['environment_ms', 'environment', 'Environment'],
  ['setup_ms', 'setup', 'Setup'],
  ['model_ms', 'model', 'Model'],
  ['tool_ms', 'tools', 'Tools'],
  ['evaluate_ms', 'evaluation', 'Evaluation'],
];

/** Where the time went; a click leads to what happened there. The list of steps leads there by the keyboard. */
export function TimeBar({
  timing,
  attempts,
}: Pick<TraceSummary, 'timing'> & { readonly attempts: readonly AttemptView[] }) {
  const segments = useMemo(() => toSegments(attempts), [attempts]);
  const phases = PHASES.map(([key, phase, label]) => {
    return { phase, label, ms: (timing[key] ?? 0) + unfinishedMs(attempts.at(-1), phase) };
  }).filter(({ ms }) => ms > 0);
  if (segments.length === 0) return null;
  return (
    <figure class="time-bar">
      <svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="Time by phase">
        {segments.map(({ phase, start, width, entryId, label, ms }, index) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: a picture for the mouse; the list of steps is for the keyboard
          <rect
            key={index}
            class={`phase-${phase} ${entryId === undefined ? '' : 'is-link'}`}
            x={start * 1000}
            width={Math.max(0.5, width * 1000)}
            height="14"
            onClick={() => entryId !== undefined && goTo(entryId)}
          >
            <title>{`${label}, ${durationText(ms)}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption>
        {phases.map(({ phase, label, ms }) => (
          <span key={phase} class="phase">
            <span class={`phase-dot phase-${phase}`} />
            {label} <strong>{durationText(ms)}</strong>
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
