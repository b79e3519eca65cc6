import { useState } from 'preact/hooks';
import { service } from '../api.ts';
import { Failure, Loaded } from '../components/states.tsx';
import { navigate } from '../navigate.ts';
import { useResource } from '../use-resource.ts';

/** Begins a job that learns from the successful runs of an evaluation. Everything is checked by the server before it exists. */
export function TrainForm({ evaluationId }: { readonly evaluationId: string }) {
  const { resource, reload } = useResource(
    async (signal) => {
      const [evaluation, trainers] = await Promise.all([
        service.evaluations.get(evaluationId, { signal }),
        service.training.providers({ signal }),
      ]);
      return { evaluation, trainers };
    },
    [evaluationId],
  );
  const [error, setError] = useState<unknown>(undefined);
  const [isSending, setSending] = useState(false);

  async function begin(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? '').trim();
    const heldOut = text('held_out')
      .split(/[\s,]+/)
      .filter((name) => name !== '');
    setSending(true);
    setError(undefined);
    try {
      const { job_id } = await service.training.create({
        name: text('name'),
        base: text('base'),
        provider: text('provider'),
        from: { evaluations: [evaluationId] },
        select: { include_reference: form.has('include_reference'), splits: ['train', 'validation'] },
        held_out: heldOut,
        evaluate: heldOut.length === 0 ? null : { attempts: Number(text('attempts')) || 1 },
      });
      navigate(`/training/${job_id}`);
    } catch (thrown) {
      setError(thrown);
      setSending(false);
    }
  }

  return (
    <Loaded resource={resource} retry={reload}>
      {({ evaluation, trainers }) => (
        <form class="train-form" onSubmit={begin} aria-label="Begin a training job">
          <h2>{`Train on the successful runs of ${evaluation.name ?? evaluation.taskset.name ?? evaluationId.slice(0, 13)}`}</h2>
          <Field name="name" title="Name of the model" pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,63}" isRequired />
          <Field name="base" title="Base model" value={evaluation.models[0] ?? ''} isRequired />
          <label>
            <span>Trainer</span>
            <select name="provider">
              {trainers.data.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
          <Field name="held_out" title="Tasksets that it is proved on, and never trained on" />
          <Field name="attempts" title="Attempts of each of those tasks" value="4" pattern="\d{1,4}" />
          <label>
            <input type="checkbox" name="include_reference" />
            <span>Learn from reference models too</span>
          </label>
          <button type="submit" class="button main" disabled={isSending}>
            {isSending ? 'Checking…' : 'Begin'}
          </button>
          {error === undefined ? null : <Failure error={error} />}
        </form>
      )}
    </Loaded>
  );
}

function Field({
  name,
  title,
  value = '',
  pattern,
  isRequired = false,
}: {
  readonly name: string;
  readonly title: string;
  readonly value?: string;
  readonly pattern?: string;
  readonly isRequired?: boolean;
}) {
  return (
    <label>
      <span>{title}</span>
      <input type="text" name={name} defaultValue={value} pattern={pattern} required={isRequired} />
    </label>
  );
}
