import { useState } from 'preact/hooks';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { countText } from '../../../support/text/figures.ts';
import { RERUN_STATES } from '../../evaluations/evaluation-data.ts';
import { service } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { navigate } from '../navigate.ts';
import { pageSettings } from '../page-settings.ts';

interface Action {
  readonly title: string;
  readonly isDanger?: true;
  /** Asked before it is done. */
  readonly question?: string;
  run(): Promise<unknown>;
}

/** Buttons for what the evaluation allows as it is now. The server says how it is afterwards. */
export function Controls({ evaluation, onDone }: { readonly evaluation: EvaluationDetail; onDone(): void }) {
  const [asked, setAsked] = useState<Action | undefined>(undefined);
  const [running, setRunning] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState('');
  // Without a token of its own the page can only look.
  if (pageSettings.csrfToken === '') return null;
  const run = async (action: Action) => {
    setAsked(undefined);
    setProblem('');
    setRunning(action.title);
    try {
      await action.run();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    setRunning(undefined);
    onDone();
  };
  return (
    <div class="evaluation-controls">
      {problem === '' ? null : (
        <span class="bad-text" role="alert">
          {problem}
        </span>
      )}
      {actionsOf(evaluation).map((action) => (
        <button
          key={action.title}
          type="button"
          class={`button ${action.isDanger ? 'danger' : ''}`}
          disabled={running !== undefined}
          onClick={() => (action.question === undefined ? void run(action) : setAsked(action))}
        >
          {running === action.title ? `${action.title}…` : action.title}
        </button>
      ))}
      {asked === undefined ? null : (
        <Dialog title={`${asked.title}?`} onClose={() => setAsked(undefined)}>
          <p>{asked.question}</p>
          <p class="form-actions dialog-actions">
            <button type="button" class="button danger" onClick={() => void run(asked)}>
              {asked.title}
            </button>
            <button type="button" class="button" onClick={() => setAsked(undefined)}>
              Leave it
            </button>
          </p>
        </Dialog>
      )}
    </div>
  );
}

function actionsOf({ evaluation_id: id, status, progress }: EvaluationDetail): readonly Action[] {
  const failed = RERUN_STATES.filter((outcome) => (progress.outcomes[outcome] ?? 0) > 0);
  const count = failed.reduce((sum, outcome) => sum + (progress.outcomes[outcome] ?? 0), 0);
  const { evaluations } = service;
  const actions: readonly (Action | false)[] = [
    status === 'running' && { title: 'Pause', run: () => evaluations.pause(id) },
    status === 'paused' && { title: 'Resume', run: () => evaluations.resume(id) },
    status !== 'cancelled' &&
      count > 0 && {
        title: `Run ${countText(count, 'error')} again`,
        run: () => evaluations.rerun(id, failed),
      },
    !isEnded(status) && {
      title: 'Cancel',
      isDanger: true,
      question: 'Attempts that run are cancelled, and no more begin. What has ended stays.',
      run: () => evaluations.cancel(id),
    },
    isEnded(status) && {
      title: 'Grade again',
      question:
        'Every attempt is replayed in the environment of today and graded by its evaluation. The rewards of the runs stay.',
      run: async () => navigate(`/regrades/${(await service.regrades.evaluation(id)).job_id}`),
    },
    isEnded(status) && {
      title: 'Delete',
      isDanger: true,
      question: 'The evaluation and all of its traces are deleted for good.',
      run: async () => {
        await evaluations.delete(id);
        navigate('/evaluations');
      },
    },
  ];
  return actions.filter((action) => action !== false);
}
