import { useState } from 'preact/hooks';
import type { Checkpoint, RegisteredModel } from '../../../contract/model.ts';
import { service } from '../api.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Loaded } from '../components/states.tsx';
import { type Column, Table } from '../components/table.tsx';
import { TrainedBy } from '../training/trained-by.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';

/** A registered model: whom it means, and its checkpoints. */
export function ModelPage({ name }: { readonly name: string }) {
  usePageTitle(name);
  const { resource, reload } = useResource((signal) => service.models.registered.get(name, { signal }), [name]);
  return (
    <div class="page training">
      <p>
        <a href="/models">Models</a>
      </p>
      <Loaded resource={resource} retry={reload}>
        {(model) => <Model key={model.name} model={model} onChanged={reload} />}
      </Loaded>
    </div>
  );
}

function Model({ model, onChanged }: { readonly model: RegisteredModel; onChanged(): void }) {
  const [failure, setFailure] = useState('');
  const setHead = async (head: number | null) => {
    try {
      await service.models.registered.change(model.name, { head });
      setFailure('');
      onChanged();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <>
      <h1>{model.name}</h1>
      <dl class="evaluation-facts">
        <Fact name="Target" value={model.target} />
        <Fact name="Trained from" value={model.base} />
        <Fact name="Gateway" value={model.gateway} />
      </dl>
      <p>
        <a href={`/?model=${encodeURIComponent(model.name)}`}>Its runs</a>
      </p>
      <h2>Checkpoints</h2>
      <p class="quiet">
        {model.head === null ? 'The name means the target.' : `The name means the checkpoint of step ${model.head}. `}
        {model.head === null ? null : (
          <button type="button" class="button small" onClick={() => void setHead(null)}>
            Let it mean the target
          </button>
        )}
      </p>
      {failure === '' ? null : (
        <p class="bad-text" role="alert">
          {failure}
        </p>
      )}
      {model.checkpoints.length === 0 ? (
        <p class="quiet">There are none.</p>
      ) : (
        <Table
          label="Checkpoints"
          columns={columnsOf(model, setHead)}
          rows={model.checkpoints}
          keyOf={({ step }) => String(step)}
        />
      )}
      {model.training_job === null ? null : <TrainedBy jobId={model.training_job} />}
    </>
  );
}

function columnsOf(model: RegisteredModel, setHead: (step: number) => Promise<void>): readonly Column<Checkpoint>[] {
  const metrics = [...new Set(model.checkpoints.flatMap((checkpoint) => Object.keys(checkpoint.metrics)))].sort();
  return [
    { name: 'step', title: 'Step', isNumber: true, cell: ({ step }) => String(step) },
    {
      name: 'target',
      title: 'Target',
      cell: ({ step, target }) => (
        <>
          <code>{target}</code>
          <CopyButton text={() => `${model.name}@${step}`} label={`Copy ${model.name}@${step}`} />
        </>
      ),
    },
    ...metrics.map(
      (metric): Column<Checkpoint> => ({
        name: `metric-${metric}`,
        title: metric,
        isNumber: true,
        cell: (checkpoint) => checkpoint.metrics[metric] ?? '',
      }),
    ),
    {
      name: 'head',
      title: 'Head',
      cell: ({ step }) =>
        step === model.head ? (
          'head'
        ) : (
          <button type="button" class="button small" onClick={() => void setHead(step)}>
            Make it the head
          </button>
        ),
    },
  ];
}

function Fact({ name, value }: { readonly name: string; readonly value: string | null }) {
  if (value === null) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
      </dd>
    </div>
  );
}
