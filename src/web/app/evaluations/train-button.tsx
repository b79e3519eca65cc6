import { useState } from 'preact/hooks';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { countText } from '../../../support/text/figures.ts';
import { service } from '../api.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { useResource } from '../use-resource.ts';

/** Link that builds a dataset from the successes of an evaluation; hidden without successes. */
export function TrainButton({ evaluation }: { readonly evaluation: EvaluationDetail }) {
  const { evaluation_id: id, progress } = evaluation;
  const [isOpen, setOpen] = useState(false);
  const { resource } = useResource(
    (signal) =>
      service.traces.summary({ evaluation_id: id, status: 'completed', outcome: 'graded', min_reward: 1 }, { signal }),
    [id, progress.done],
  );
  const count = resource.state === 'ready' ? resource.value.count : 0;
  if (count === 0) return null;
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        {`Dataset of ${countText(count, 'successful run')}`}
      </button>
      {isOpen ? <TrainDialog evaluationId={id} count={count} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function TrainDialog({
  evaluationId,
  count,
  onClose,
}: {
  readonly evaluationId: string;
  readonly count: number;
  onClose(): void;
}) {
  const command = `npx proctor dataset build --evaluation ${evaluationId} --out dataset`;
  return (
    <Dialog title={`Dataset of ${countText(count, 'successful run')}`} onClose={onClose}>
      <p>
        Files to train on are made of them: each deed once, at most four of a task, split by task. Runs of reference
        models are left out, and a task that is held out is refused.
      </p>
      <pre class="text mono">
        {command} <CopyButton text={() => command} label="Copy the command" />
      </pre>
    </Dialog>
  );
}
