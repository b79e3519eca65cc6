import { useEffect, useRef, useState } from 'preact/hooks';
import { OUTSIDE_STEPS } from '../../../contract/names.ts';
import { preview } from '../../format.ts';
import { goTo, idInView } from './go-to.ts';
import { type Entry, hasProblem } from './timeline.ts';

const ROW_PX = 30;
/** Rows that are drawn above and below those that are seen. */
const MORE_ROWS = 8;
/** Entries above this height of the window count as read, in pixels. */
const READ_PX = 190;

/** The steps of the run as a list beside it, with the one that is being read. */
export function Outline({
  entries,
  found,
  isLive,
}: {
  readonly entries: readonly Entry[];
  /** Results of a search. */
  readonly found: ReadonlySet<string>;
  readonly isLive: boolean;
}) {
  const rows = entries.filter(({ kind }) => kind !== 'logs' && kind !== 'environment');
  const currentId = useIdInView(rows);
  const { ref, from, to } = useWindow(
    rows.length,
    rows.findIndex(({ id }) => id === currentId),
  );
  return (
    <nav class="outline" aria-label="Steps" ref={ref}>
      <ol style={{ height: `${rows.length * ROW_PX}px` }}>
        {rows.slice(from, to).map((entry, index) => (
          <li key={entry.id} style={{ top: `${(from + index) * ROW_PX}px` }}>
            <a
              href={`#${entry.id}`}
              class={found.has(entry.id) ? 'found' : undefined}
              aria-current={entry.id === currentId ? 'step' : undefined}
              onClick={(event) => {
                event.preventDefault();
                goTo(entry.id);
              }}
            >
              <Row entry={entry} isLive={isLive} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function Row({ entry, isLive }: { readonly entry: Entry; readonly isLive: boolean }) {
  if (entry.kind !== 'step') return <span class="outline-name">{NAMES[entry.kind]}</span>;
  const { step, calls, response } = entry;
  const names = [...new Set(calls.map(({ name }) => name))].join(', ');
  const text = names === '' ? preview(response?.message.content ?? '…', 40) : names;
  return (
    <>
      <span class="outline-number">{step === OUTSIDE_STEPS ? '' : step}</span>
      <span class={`outline-text ${names === '' ? 'quiet' : ''}`}>{text}</span>
      {hasProblem(entry, isLive) ? <span class="outline-bad" role="img" aria-label="with an error" /> : null}
    </>
  );
}

const NAMES: Readonly<Record<Exclude<Entry['kind'], 'step'>, string>> = {
  environment: 'Environment',
  setup: 'Prompt',
  turn: 'Message',
  user: 'User',
  judgement: 'Judge',
  logs: 'Logs',
  answer: 'Answer',
  evaluation: 'Evaluation',
};

/** Looked for once a frame while the page scrolls. */
function useIdInView(rows: readonly Entry[]): string | undefined {
  const [id, setId] = useState<string | undefined>(undefined);
  const ids = useRef<readonly string[]>([]);
  ids.current = rows.map((row) => row.id);
  useEffect(() => {
    let isDue = false;
    const look = () => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        setId(idInView(ids.current, READ_PX));
      });
    };
    look();
    addEventListener('scroll', look, { passive: true });
    return () => removeEventListener('scroll', look);
  }, []);
  return id;
}

/** The rows of a scrolled list that are seen; it follows the current one. */
function useWindow(count: number, current: number) {
  const ref = useRef<HTMLElement>(null);
  const [place, setPlace] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const list = ref.current;
    if (list === null) return;
    const measure = () => setPlace({ top: list.scrollTop, height: list.clientHeight });
    measure();
    list.addEventListener('scroll', measure, { passive: true });
    addEventListener('resize', measure);
    return () => {
      list.removeEventListener('scroll', measure);
      removeEventListener('resize', measure);
    };
  }, []);
  useEffect(() => {
    const list = ref.current;
    const top = current * ROW_PX;
    if (list === null || current < 0) return;
    const isSeen = top >= list.scrollTop && top + ROW_PX <= list.scrollTop + list.clientHeight;
    if (!isSeen) list.scrollTop = top - list.clientHeight / 2;
  }, [current]);
  const from = Math.max(0, Math.floor(place.top / ROW_PX) - MORE_ROWS);
  const to = Math.min(count, Math.ceil((place.top + place.height) / ROW_PX) + MORE_ROWS);
  return { ref, from, to };
}
