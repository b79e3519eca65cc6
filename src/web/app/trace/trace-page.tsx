import { useEffect, useState } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { service } from '../api.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Later } from '../components/later.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { isRunService, pageSettings } from '../page-settings.ts';
import { usePageTitle } from '../use-page-title.ts';
import { ForkDialog } from './fork-dialog.tsx';
import { RepeatActions } from './repeat-actions.tsx';
import { SeatPanel } from './seat-panel.tsx';
import { feedTrace, type TraceState } from './trace-feed.ts';
import { TraceView } from './trace-view.tsx';

/** The page of a trace; of a run that goes on it follows what happens. */
export function TracePage({ traceId }: { readonly traceId: string }) {
  const [state, setState] = useState<TraceState | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [round, setRound] = useState(0);
  const [forkStep, setForkStep] = useState<number | undefined>(undefined);
  usePageTitle(state === undefined ? 'Trace' : `${state.trace.env_name} ${state.trace.scenario_name}`);
  useEffect(() => {
    const gone = new AbortController();
    setError(undefined);
    feedTrace(traceId, gone.signal, setState).catch((failure: unknown) => {
      if (!gone.signal.aborted) setError(failure);
    });
    return () => gone.abort();
  }, [traceId, round]);
  if (error !== undefined && state === undefined) return <Failure error={error} retry={() => setRound(round + 1)} />;
  if (state === undefined) return <Loading what="Reading the trace" />;
  return (
    <>
      {error === undefined ? null : <Failure error={error} retry={() => setRound(round + 1)} />}
      {isRunService && state.trace.origin === 'agent' && state.trace.status === 'running' ? (
        <SeatPanel traceId={traceId} />
      ) : null}
      <TraceView
        state={state}
        blobAddress={blobAddress}
        actions={<Actions trace={state.trace} />}
        place={<Belonging trace={state.trace} />}
        continueFrom={canRepeat(state.trace) && state.trace.origin !== 'agent' ? setForkStep : undefined}
      />
      {forkStep === undefined ? null : (
        <ForkDialog trace={state.trace} afterStep={forkStep} onClose={() => setForkStep(undefined)} />
      )}
    </>
  );
}

/** The evaluation of a run that is an attempt of one, and the traces that it repeats or that repeat it. */
function Belonging({ trace }: { readonly trace: TraceSummary }) {
  if (!isRunService) return null;
  return (
    <>
      {trace.evaluation_id === null ? null : (
        <Later load={() => import('./evaluation-links.tsx')} meanwhile={null}>
          {({ EvaluationLinks }) => <EvaluationLinks key={trace.trace_id} trace={trace} />}
        </Later>
      )}
      {trace.finished_at === null && trace.parent === null ? null : (
        <Later load={() => import('./repetitions.tsx')} meanwhile={null}>
          {({ Repetitions }) => <Repetitions key={`${trace.trace_id} ${trace.finished_at}`} trace={trace} />}
        </Later>
      )}
    </>
  );
}

/** Without a token of its own the page can only look. */
function canRepeat({ finished_at }: TraceSummary): boolean {
  return finished_at !== null && isRunService && pageSettings.csrfToken !== '';
}

const blobAddress = (sha256: string) => `/v1/blobs/${sha256}`;

/** Files for the viewers and harnesses of others. */
const FORMATS = [
  { format: 'atif', label: 'ATIF', title: 'A trajectory of ATIF 1.8' },
  { format: 'inspect', label: 'Inspect', title: 'A log of Inspect with this sample' },
] as const;

/** Origins of runs that their page can cancel. */
const CANCELLED_HERE: ReadonlySet<TraceSummary['origin']> = new Set(['run', 'agent']);

function Actions({ trace }: { readonly trace: TraceSummary }) {
  const json = `/v1/traces/${trace.trace_id}`;
  return (
    <>
      {trace.finished_at === null && CANCELLED_HERE.has(trace.origin) && isRunService ? (
        <CancelButton traceId={trace.trace_id} />
      ) : null}
      {canRepeat(trace) ? <RepeatActions trace={trace} /> : null}
      <a class="button" href={toOthers(trace)} title="Select another run of this scenario to compare it with">
        Compare
      </a>
      <CopyButton text={() => trace.trace_url} label="Copy the address of this trace" />
      <a class="button" href={json} target="_blank" rel="noopener">
        JSON
      </a>
      <a class="button" href={json} download={`trace-${trace.trace_id}.json`}>
        Download
      </a>
      {trace.finished_at === null
        ? null
        : FORMATS.map(({ format, label, title }) => (
            <a key={format} class="button" href={`${json}?format=${format}`} download title={title}>
              {label}
            </a>
          ))}
      <a class="button" href={`/traces/${trace.trace_id}/export`} download title="One file that opens without a server">
        HTML
      </a>
    </>
  );
}

/** The list of the runs of the same scenario, this one selected. */
function toOthers({ trace_id, env_name, scenario_name }: TraceSummary): string {
  return `${pageSettings.runsPath}?${new URLSearchParams({ env_name, scenario_name, compare: trace_id })}`;
}

/** The run is cancelled when its worker says so: the button only asks. */
function CancelButton({ traceId }: { readonly traceId: string }) {
  const [progress, setProgress] = useState<'none' | 'asked' | { readonly problem: string }>('none');
  const cancel = async () => {
    setProgress('asked');
    try {
      await service.traces.cancel(traceId);
    } catch (error) {
      setProgress({ problem: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      {typeof progress === 'string' ? null : (
        <span class="bad-text" role="alert">
          {progress.problem}
        </span>
      )}
      <button type="button" class="button danger" disabled={progress === 'asked'} onClick={() => void cancel()}>
        {progress === 'asked' ? 'Cancelling…' : 'Cancel the run'}
      </button>
    </>
  );
}
