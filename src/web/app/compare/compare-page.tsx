import { useEffect, useState } from 'preact/hooks';
import { Empty, Failure, Loading } from '../components/states.tsx';
import { pageSettings } from '../page-settings.ts';
import { usePageTitle } from '../use-page-title.ts';
import { comparePath, MOST_COMPARED } from './compare-path.ts';
import { CompareView } from './compare-view.tsx';
import { type ReadRuns, readRuns, UnreadTraceError } from './read-traces.ts';

/** The page that compares two to four traces. */
export function ComparePage({ traceIds }: { readonly traceIds: readonly string[] }) {
  usePageTitle(`Compare ${traceIds.length} runs`);
  if (traceIds.length < 2) return <TooFew traceIds={traceIds} />;
  if (traceIds.length > MOST_COMPARED) return <TooMany traceIds={traceIds} />;
  return <Comparison key={traceIds.join()} traceIds={traceIds} />;
}

function Comparison({ traceIds }: { readonly traceIds: readonly string[] }) {
  const [read, setRead] = useState<ReadRuns | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const gone = new AbortController();
    setError(undefined);
    readRuns(traceIds, gone.signal, (runs) => !gone.signal.aborted && setRead(runs)).catch((failure: unknown) => {
      if (gone.signal.aborted) return;
      setError(failure);
      // Stops reading the others.
      gone.abort();
    });
    return () => gone.abort();
  }, [round]);
  const reload = () => setRound(round + 1);
  if (error !== undefined) return <Unread error={error} traceIds={traceIds} retry={reload} />;
  if (read === undefined) return <Loading what="Reading the traces" />;
  return <CompareView read={read} reload={reload} />;
}

function TooFew({ traceIds: [traceId] }: { readonly traceIds: readonly string[] }) {
  return (
    <Empty title="A comparison needs two runs">
      <p>
        {traceId === undefined
          ? 'The address names none: it is /compare?traces= with the ids of two traces, and a comma between them.'
          : 'The address names one.'}
      </p>
      <p>
        <a href={`${pageSettings.runsPath}${traceId === undefined ? '' : `?compare=${traceId}`}`}>
          {traceId === undefined ? 'Select two in the list' : 'Select another in the list'}
        </a>
      </p>
    </Empty>
  );
}

function TooMany({ traceIds }: { readonly traceIds: readonly string[] }) {
  return (
    <Empty title={`At most ${MOST_COMPARED} runs are compared`}>
      <p>{`The address names ${traceIds.length}.`}</p>
      <p>
        <a href={comparePath(traceIds.slice(0, MOST_COMPARED))}>{`Compare the first ${MOST_COMPARED}`}</a>
      </p>
    </Empty>
  );
}

/** A trace that cannot be read. It can be removed from the comparison. */
function Unread({
  error,
  traceIds,
  retry,
}: {
  readonly error: unknown;
  readonly traceIds: readonly string[];
  retry(): void;
}) {
  const rest = error instanceof UnreadTraceError ? traceIds.filter((id) => id !== error.traceId) : [];
  return (
    <>
      <Failure error={error instanceof UnreadTraceError ? error.cause : error} retry={retry} />
      {rest.length < 2 ? null : (
        <p class="state">
          <a href={comparePath(rest)}>{`Compare the other ${rest.length}`}</a>
        </p>
      )}
    </>
  );
}
