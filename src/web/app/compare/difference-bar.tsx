import { useEffect } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { grouped } from '../../../support/text/figures.ts';
import { Icon } from '../components/icons.tsx';
import { Reward } from '../components/reward.tsx';
import { goTo, idInView } from '../trace/go-to.ts';
import { isTaken } from '../trace/use-keys.ts';
import { LETTERS } from './compared-rows.ts';
import { ASPECTS, type Aspect } from './differences.ts';

const NAMES: Readonly<Record<Aspect, string>> = {
  calls: 'Calls',
  results: 'Results',
  text: 'Text',
  reasoning: 'Reasoning',
};

/** Distance in pixels below the top at which a row counts as the current one. */
const READ_PX = 150;

export interface DifferenceBarProps {
  readonly traces: readonly TraceSummary[];
  readonly counted: ReadonlySet<Aspect>;
  /** Anchors of the rows that differ. */
  readonly ids: readonly string[];
  readonly rowCount: number;
  onToggle(aspect: Aspect): void;
}

/** Sticky bar: names of the columns, counted kinds of differences, and buttons to the next difference. */
export function DifferenceBar({ traces, counted, ids, rowCount, onToggle }: DifferenceBarProps) {
  useDifferenceKeys(ids);
  return (
    <div class="difference-bar">
      <div class="difference-tools" role="toolbar" aria-label="Differences">
        <span role="status">
          {ids.length === 0 ? 'No differences' : `${grouped(ids.length)} of ${grouped(rowCount)} differ`}
        </span>
        <button
          type="button"
          class="icon-button small"
          title="The difference before (k)"
          aria-label="The difference before"
          disabled={ids.length === 0}
          onClick={() => goBy(ids, -1)}
        >
          <Icon name="left" />
        </button>
        <button
          type="button"
          class="icon-button small"
          title="The next difference (j)"
          aria-label="The next difference"
          disabled={ids.length === 0}
          onClick={() => goBy(ids, 1)}
        >
          <Icon name="right" />
        </button>
        <fieldset class="kinds">
          <legend class="visually-hidden">What counts as a difference</legend>
          {ASPECTS.map((aspect) => (
            <button
              key={aspect}
              type="button"
              class="chip"
              aria-pressed={counted.has(aspect)}
              onClick={() => onToggle(aspect)}
            >
              {NAMES[aspect]}
            </button>
          ))}
        </fieldset>
      </div>
      <ol class="run-names">
        {traces.map(({ trace_id, reward, model }, index) => (
          <li key={trace_id}>
            <span class="letter">{LETTERS[index]}</span>
            <Reward reward={reward} />
            <span class="run-name quiet">{model}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}

function useDifferenceKeys(ids: readonly string[]): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target)) return;
      if (event.key === 'j') goBy(ids, 1);
      if (event.key === 'k') goBy(ids, -1);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [ids]);
}

function goBy(ids: readonly string[], by: 1 | -1): void {
  const id = idInView(ids, READ_PX);
  const isAbove = id !== undefined && (document.getElementById(id)?.getBoundingClientRect().top ?? 0) > READ_PX;
  const place = isAbove ? -1 : ids.indexOf(id ?? '');
  if (by === -1 && place <= 0) scrollTo(0, 0);
  else goTo(ids[Math.min(ids.length - 1, place + by)] ?? '');
}
