import type { TrainingJob } from '../../../contract/service/training.ts';
import { countText, meanText, signedIntervalText, signedText } from '../../../support/text/figures.ts';
import { Table } from '../components/table.tsx';

/** Its gain over the base, or the reason why there is no proof. */
export function Gain({ job: { proof, proof_error: missing, evaluations, base, name } }: { readonly job: TrainingJob }) {
  const comparison = proof?.compare.comparisons[0];
  const { base: a, model: b } = evaluations;
  if (comparison === undefined && missing === null && a === null) return null;
  const query = a === null || b === null ? '' : new URLSearchParams({ a, b, a_model: base, b_model: name }).toString();
  return (
    <section>
      <h2>Gain on tasks that it has not seen</h2>
      {comparison === undefined ? (
        <p class="quiet">{missing ?? 'Base and model are being evaluated.'}</p>
      ) : (
        <p>
          <strong>{`${VERDICTS[proof?.verdict ?? 'open']}: ${signedText(comparison.difference, comparison.ci95)}`}</strong>{' '}
          <span class="quiet">{signedIntervalText(comparison.ci95)}</span>
          {`: mean reward ${meanText(comparison.a_mean)} of the base, ${meanText(comparison.b_mean)} of the model; ${comparison.won_count} of ${countText(comparison.n_tasks, 'task')} won, ${comparison.lost_count} lost.`}
        </p>
      )}
      {query === '' ? null : (
        <p>
          <a href={`/evaluations/compare?${query}`}>Compare task by task</a>
        </p>
      )}
    </section>
  );
}

const VERDICTS = {
  better: 'Better than its base',
  worse: 'Worse than its base',
  equal: 'Equal to its base',
  open: 'No difference can be told',
} as const;

/** Model, job, dataset, evaluations, traces. */
export function Lineage({ job }: { readonly job: TrainingJob }) {
  const { dataset, from, target, checkpoints, provider_ids: ids } = job;
  const evaluations = 'evaluations' in from ? from.evaluations : [];
  return (
    <section>
      <h2>Lineage</h2>
      <dl class="evaluation-facts">
        <div>
          <dt>Model</dt>
          <dd>
            {job.status === 'succeeded' ? <a href={`/models/${encodeURIComponent(job.name)}`}>{job.name}</a> : job.name}
            {target === null ? null : <code>{` ${target}`}</code>}
          </dd>
        </div>
        <div>
          <dt>Checkpoints</dt>
          <dd>{checkpoints.length === 0 ? 'none' : checkpoints.map(({ step }) => `${job.name}@${step}`).join(', ')}</dd>
        </div>
        <div>
          <dt>Job</dt>
          <dd>
            <a href={`/training/${job.job_id}`}>
              <code>{job.job_id}</code>
            </a>
            {Object.entries(ids).map(([name, id]) => ` · ${name} ${id}`)}
          </dd>
        </div>
        <div>
          <dt>Learned from</dt>
          <dd>
            {evaluations.map((id) => (
              <span key={id}>
                <a href={`/evaluations/${id}`}>{id.slice(0, 13)}</a> <a href={`/?evaluation_id=${id}`}>its runs</a>{' '}
              </span>
            ))}
            {evaluations.length === 0 ? 'runs of a filter' : null}
          </dd>
        </div>
      </dl>
      {dataset === null ? null : (
        <>
          <p>
            {`${countText(dataset.lines.train, 'line')} for training, ${dataset.lines.validation} for validation. Dataset `}
            <code title={dataset.hash}>{dataset.hash.slice(0, 10)}</code>
          </p>
          <Table
            label="Steps of the dataset"
            rows={dataset.steps}
            keyOf={({ step }) => step}
            columns={[
              { name: 'step', title: 'Step', cell: ({ step }) => step },
              { name: 'in', title: 'In', isNumber: true, cell: (row) => row.in },
              { name: 'out', title: 'Out', isNumber: true, cell: (row) => row.out },
              { name: 'dropped', title: 'Left out', cell: ({ dropped }) => describeDropped(dropped) },
            ]}
          />
        </>
      )}
    </section>
  );
}

function describeDropped(dropped: Readonly<Record<string, number>>): string {
  return Object.entries(dropped)
    .map(([reason, count]) => `${reason.replaceAll('_', ' ')} ${count}`)
    .join(', ');
}
