import { useState } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { service } from '../api.ts';
import { navigate } from '../navigate.ts';

/** Buttons for a trace that has ended: it is repeated, or graded again, in the environment of today. */
export function RepeatActions({ trace }: { readonly trace: TraceSummary }) {
  const [running, setRunning] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState('');
  const act = async (name: string, begin: () => Promise<string>) => {
    setProblem('');
    setRunning(name);
    try {
      navigate(await begin());
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setRunning(undefined);
  };
  const { trace_id: id } = trace;
  const replay = async () => `/traces/${(await service.traces.replay(id)).trace_id}`;
  const regrade = async () => `/regrades/${(await service.regrades.trace(id)).job_id}`;
  return (
    <>
      {problem === '' ? null : (
        <span class="bad-text" role="alert">
          {problem}
        </span>
      )}
      <button
        type="button"
        class="button"
        title="Repeat setup and tool calls in the environment of today, and compare"
        disabled={running !== undefined}
        onClick={() => void act('replay', replay)}
      >
        {running === 'replay' ? 'Replaying…' : 'Replay'}
      </button>
      <button
        type="button"
        class="button"
        title="Replay it, and grade it by the evaluation of today"
        disabled={running !== undefined}
        onClick={() => void act('regrade', regrade)}
      >
        {running === 'regrade' ? 'Grading…' : 'Grade again'}
      </button>
    </>
  );
}
