import { useMemo, useState } from 'preact/hooks';
import { LazySection } from '../trace/steps/lazy-section.tsx';
import { ComparedCell } from './compared-cell.tsx';
import type { ComparedEntry } from './compared-rows.ts';
import { ASPECTS, type Aspect, type JudgedRow } from './differences.ts';
import { titleOf } from './first-difference.ts';
import { describeSame, type FoldedPart } from './fold-rows.ts';
import type { ComparedRun } from './read-traces.ts';

/** Up to this number of rows, all are drawn at once. */
const DRAWN_WHOLE = 24;

export interface ComparedListProps {
  readonly parts: readonly FoldedPart[];
  readonly runs: readonly ComparedRun[];
  readonly counted: ReadonlySet<Aspect>;
}

/** The rows of a comparison. Equal rows are folded into a line that can be opened. */
export function ComparedList({ parts, runs, counted }: ComparedListProps) {
  const isAlways = parts.length <= DRAWN_WHOLE;
  return (
    <div class="compared-list">
      {parts.map((part) =>
        part.kind === 'row' ? (
          <RowSection key={part.row.id} row={part.row} runs={runs} counted={counted} isAlways={isAlways} />
        ) : (
          <SameRows key={part.id} rows={part.rows} runs={runs} counted={counted} />
        ),
      )}
    </div>
  );
}

function SameRows({ rows, runs, counted }: Omit<ComparedListProps, 'parts'> & { readonly rows: readonly JudgedRow[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="same-rows" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span>{describeSame(rows)}</span>
        <span class="same-rows-end">{isOpen ? 'Fold' : 'Show'}</span>
      </button>
      {isOpen
        ? rows.map((row) => (
            <RowSection key={row.id} row={row} runs={runs} counted={counted} isAlways={rows.length <= DRAWN_WHOLE} />
          ))
        : null}
    </>
  );
}

interface RowProps {
  readonly row: JudgedRow;
  readonly runs: readonly ComparedRun[];
  readonly counted: ReadonlySet<Aspect>;
}

/** Redrawn only when its row or the counted differences change. */
function RowSection({ row, runs, counted, isAlways }: RowProps & { readonly isAlways: boolean }) {
  return useMemo(
    () => (
      <LazySection id={row.id} estimatePx={estimateHeight(row)} isAlways={isAlways}>
        {() => <ComparedRow row={row} runs={runs} counted={counted} />}
      </LazySection>
    ),
    [row, runs, counted, isAlways],
  );
}

function ComparedRow({ row, runs, counted }: RowProps) {
  const { cells, reference, differences } = row;
  const known = cells[reference];
  if (known === undefined) return null;
  // With two cells the first one is marked too. With more, each marks its own differences.
  const isMarked = cells.length === 2 && differences.some(({ size }) => size > 0);
  return (
    <article class="compared" aria-label={titleOf(known)}>
      {cells.map((cell, index) => (
        <ComparedCell
          key={index}
          index={index}
          traceId={runs[index]?.trace.trace_id ?? ''}
          entry={cell}
          against={index !== reference ? known : isMarked ? cells[1 - index] : undefined}
          side={index === reference ? 'known' : 'other'}
          differences={ASPECTS.filter((aspect) => counted.has(aspect) && differences[index]?.has(aspect))}
          isLive={runs[index]?.trace.finished_at === null}
        />
      ))}
    </article>
  );
}

/** Estimated height of a row in pixels: that of its highest cell. */
function estimateHeight({ cells }: JudgedRow): number {
  return Math.max(...cells.map((cell) => (cell === undefined ? 0 : estimateCell(cell))));
}

function estimateCell(entry: ComparedEntry): number {
  if (entry.kind !== 'step') return 260;
  const message = entry.response?.message;
  const text = (message?.content?.length ?? 0) + (message?.reasoning?.length ?? 0);
  const calls = entry.calls.map(({ result }) => {
    const block = result?.content.find(({ type }) => type === 'text')?.text;
    const lines = typeof block === 'string' ? Math.max(block.length / 60, block.split('\n', 40).length) : 2;
    return 150 + 19 * Math.min(40, lines);
  });
  return 60 + 23 * Math.min(40, text / 70) + calls.reduce((sum, height) => sum + height, 0);
}
