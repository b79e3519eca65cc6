import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { goTo } from '../trace/go-to.ts';
import { ComparedList } from './compared-list.tsx';
import { LETTERS, toRows } from './compared-rows.ts';
import { DifferenceBar } from './difference-bar.tsx';
import { ASPECTS, type Aspect, judge } from './differences.ts';
import { findFirstDifference } from './first-difference.ts';
import { foldRows } from './fold-rows.ts';
import type { ReadRuns } from './read-traces.ts';
import { describeScenarios } from './run-facts.ts';
import { RunCards, RunTable } from './run-table.tsx';

/** Runs side by side: results, first difference and all steps. */
export function CompareView({ read, reload }: { readonly read: ReadRuns; reload(): void }) {
  const { runs, isWhole, readAt } = read;
  const [counted, setCounted] = useState<ReadonlySet<Aspect>>(new Set(ASPECTS));
  const traces = useMemo(() => runs.map(({ trace }) => trace), [runs]);
  const rows = useMemo(() => {
    const aligned = toRows(runs.map(({ entries }) => entries)).map(judge);
    // Later events may still change these entries.
    return isWhole ? aligned : aligned.slice(0, aligned.findLastIndex(({ cells }) => !cells.includes(undefined)) + 1);
  }, [runs, isWhole]);
  const parts = useMemo(() => foldRows(rows, counted), [rows, counted]);
  const ids = useMemo(() => parts.flatMap((part) => (part.kind === 'row' ? [part.row.id] : [])), [parts]);
  const scenarios = describeScenarios(traces);
  const running = LETTERS.filter((_, index) => traces[index]?.finished_at === null);
  useStartingPlace(ids);
  return (
    <div class={`page compare runs-${runs.length}`}>
      <h1>{`Compare ${runs.length} runs`}</h1>
      <p class="quiet compare-what">
        {[...new Set(traces.map(({ env_name, scenario_name }) => `${env_name} / ${scenario_name}`))].join(', ')}
      </p>
      {scenarios === undefined ? null : <p class="notice fair">{scenarios}</p>}
      {running.length === 0 ? null : (
        <p class="notice live">
          {`${running.join(' and ')} ${running.length === 1 ? 'is' : 'are'} not finished: this is how far it was at ${readAt.slice(11, 19)} UTC. `}
          <button type="button" class="link" onClick={reload}>
            Read again
          </button>
        </p>
      )}
      <RunCards traces={traces} />
      <FirstDifferencePanel rows={rows} isWhole={isWhole} />
      <RunTable traces={traces} />
      <DifferenceBar
        traces={traces}
        counted={counted}
        ids={ids}
        rowCount={rows.length}
        onToggle={(aspect) => setCounted(toggled(counted, aspect))}
      />
      <ComparedList parts={parts} runs={runs} counted={counted} />
      {isWhole ? null : (
        <p class="quiet line" role="status">
          <span class="spinner" /> Reading the rest…
        </p>
      )}
    </div>
  );
}

function FirstDifferencePanel({
  rows,
  isWhole,
}: {
  readonly rows: Parameters<typeof findFirstDifference>[0];
  readonly isWhole: boolean;
}) {
  const first = useMemo(() => findFirstDifference(rows), [rows]);
  if (first === undefined && !isWhole) return null;
  return (
    <section class="first-difference" aria-label="The first difference">
      {first === undefined ? (
        <h2>They did the same, to the word</h2>
      ) : (
        <>
          <h2>
            {'They part at '}
            <a href={`#${first.row.id}`} onClick={(event) => goTo(first.row.id) && event.preventDefault()}>
              {first.place}
            </a>
          </h2>
          <p>{first.text}</p>
        </>
      )}
    </section>
  );
}

function toggled(aspects: ReadonlySet<Aspect>, aspect: Aspect): ReadonlySet<Aspect> {
  const changed = new Set(aspects);
  if (!changed.delete(aspect)) changed.add(aspect);
  return changed;
}

/** Scrolls to the row that the address names. */
function useStartingPlace(ids: readonly string[]): void {
  const wanted = useRef(location.hash.slice(1));
  useEffect(() => {
    if (wanted.current !== '' && goTo(wanted.current)) wanted.current = '';
  }, [ids]);
}
