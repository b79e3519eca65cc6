import { useEffect, useRef, useState } from 'preact/hooks';
import { meanText } from '../../../../support/text/figures.ts';
import type { MatrixPage } from '../../../evaluations/evaluation-data.ts';
import { MOST_DRAWN_ATTEMPTS } from '../../../evaluations/evaluation-data.ts';
import { CELL, COLUMN_HEADER, ROW_GROUP, rowAt } from './grid-roles.ts';
import type { MatrixState } from './matrix-feed.ts';
import { type GridPlace, moveTo } from './matrix-keys.ts';
import { cellId, TaskRow } from './matrix-row.tsx';

/** Height of a row, as the style has it. */
const ROW_PX = 26;
/** Rows that are drawn beyond what is seen. */
const BEYOND = 8;

export interface MatrixViewProps {
  readonly state: MatrixState;
  /** Over the tasks, of each model that is shown. */
  readonly means: readonly (number | null)[];
  show(from: number, to: number): void;
  onTask(id: string): void;
}

/**
 * Tasks by models with a cell for each attempt. It scrolls by itself, and draws what is seen of it. One stop of the
 * keyboard: arrows go from cell to cell, Enter opens one.
 */
export function MatrixView({ state: { page, rows }, means, show, onTask }: MatrixViewProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 40 });
  const [active, setActive] = useState<GridPlace>({ row: 0, column: 0 });
  // Keys may come faster than the grid is drawn: each goes on from where the one before has led.
  const place = useRef(active);
  const [isFocused, setFocused] = useState(false);
  const { matched, shown } = page;
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const look = () => {
      const from = Math.max(0, Math.floor(element.scrollTop / ROW_PX) - BEYOND);
      const to = Math.min(matched, Math.ceil((element.scrollTop + element.clientHeight) / ROW_PX) + BEYOND);
      setRange((known) => (known.from === from && known.to === to ? known : { from, to }));
      show(from, to);
    };
    look();
    element.addEventListener('scroll', look, { passive: true });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', look);
      observer.disconnect();
    };
  }, [matched, show]);
  const onKeyDown = (event: KeyboardEvent) => {
    const element = scroller.current;
    if (element === null) return;
    if (event.key === 'Enter') {
      // A button that was clicked has the focus, and answers by itself.
      if (event.target !== element) return;
      const cell = document.getElementById(cellId(place.current.row, place.current.column));
      cell?.querySelector<HTMLElement>('a, button')?.click();
      return;
    }
    const next = moveTo(event, place.current, { rows: matched, columns: columnsOf(page), page: pageOf(element) });
    if (next === undefined) return;
    event.preventDefault();
    place.current = next;
    setActive(next);
    intoSight(element, next.row);
  };
  const style = { '--models': shown.length, '--cells': drawnOf(page) };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table has to have all of its rows
    <div
      ref={scroller}
      class={`matrix ${page.attempts > MOST_DRAWN_ATTEMPTS ? 'bars' : ''}`}
      style={style}
      role="grid"
      tabIndex={0}
      aria-label="Tasks and their attempts"
      aria-rowcount={matched + 1}
      aria-activedescendant={isFocused ? cellId(active.row, active.column) : undefined}
      onKeyDown={onKeyDown}
      onFocus={() => setFocused(true)}
      onBlur={() => setFocused(false)}
    >
      <div {...rowAt(1)} class="matrix-row matrix-head">
        <span {...COLUMN_HEADER} class="matrix-task">
          Task
        </span>
        {shown.map((model, index) => (
          <span key={model} {...COLUMN_HEADER} class="matrix-model" title={model}>
            <span class="matrix-model-name">{model}</span>
            <b>{meanText(means[index] ?? null)}</b>
          </span>
        ))}
      </div>
      <div {...ROW_GROUP} class="matrix-body" style={{ height: `${matched * ROW_PX}px` }}>
        {indexes(range.from, Math.min(range.to, matched)).map((index) => {
          const row = rows.get(index);
          return (
            <div
              key={index}
              {...rowAt(index + 2)}
              class="matrix-row"
              style={{ transform: `translateY(${index * ROW_PX}px)` }}
            >
              {row === undefined ? (
                <span {...CELL} id={cellId(index, 0)} class="matrix-task quiet">
                  …
                </span>
              ) : (
                <TaskRow
                  row={row}
                  index={index}
                  threshold={page.pass_threshold}
                  models={shown}
                  active={isFocused && active.row === index ? active.column : undefined}
                  onTask={onTask}
                />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function indexes(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

/** Cells of a row that are drawn for one model. */
function drawnOf({ attempts }: MatrixPage): number {
  return attempts > MOST_DRAWN_ATTEMPTS ? 1 : attempts;
}

function columnsOf(page: MatrixPage): number {
  return 1 + page.shown.length * drawnOf(page);
}

function pageOf({ clientHeight }: Element): number {
  return Math.max(1, Math.floor(clientHeight / ROW_PX) - 2);
}

/** The head of the grid stays above its rows. */
function intoSight(element: Element, row: number): void {
  const top = row * ROW_PX;
  const height = element.clientHeight - HEAD_PX;
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top + ROW_PX > element.scrollTop + height) element.scrollTop = top + ROW_PX - height;
}

const HEAD_PX = 36;
