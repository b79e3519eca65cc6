import { useState } from 'preact/hooks';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { service } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { navigate } from '../navigate.ts';

/** Asks for the model that goes on with a trace after one of its steps. */
export function ForkDialog({
  trace,
  afterStep,
  onClose,
}: {
  readonly trace: TraceSummary;
  readonly afterStep: number;
  onClose(): void;
}) {
  const [model, setModel] = useState(trace.model);
  const [problem, setProblem] = useState('');
  const [isRunning, setRunning] = useState(false);
  const start = async () => {
    setRunning(true);
    setProblem('');
    try {
      const fork = { trace_id: trace.trace_id, after_step: afterStep };
      const { trace_id } = await service.runs.create({ fork, ...(model.trim() === '' ? {} : { model: model.trim() }) });
      onClose();
      navigate(`/traces/${trace_id}`);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setRunning(false);
    }
  };
  return (
    <Dialog title={`Continue from step ${afterStep}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <p>
          {afterStep === 0
            ? 'The scenario is set up as it was, and a model begins.'
            : `The calls up to step ${afterStep} are repeated in a fresh environment, and a model goes on with the same transcript.`}
        </p>
        <label class="field">
          <span>Model</span>
          <input value={model} onInput={(event) => setModel(event.currentTarget.value)} />
        </label>
        {problem === '' ? null : (
          <p class="bad-text" role="alert">
            {problem}
          </p>
        )}
        <p class="form-actions dialog-actions">
          <button type="submit" class="button" disabled={isRunning}>
            {isRunning ? 'Starting…' : 'Continue'}
          </button>
          <button type="button" class="button" onClick={onClose}>
            Leave it
          </button>
        </p>
      </form>
    </Dialog>
  );
}
