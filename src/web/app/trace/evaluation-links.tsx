import type { EvaluationAttempt } from '../../../contract/service/evaluation.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { preview } from '../../format.ts';
import { service } from '../api.ts';
import { useResource } from '../use-resource.ts';

/** Attempts of one task and model among which an attempt has its neighbours. */
const MOST_ATTEMPTS = 1_000;

/** Which attempt of which evaluation a trace is, with the ones before and after it. */
export function EvaluationLinks({ trace }: { readonly trace: TraceSummary }) {
  const { evaluation_id: id, task_id, attempt_index, model, rerun, superseded } = trace;
  const { resource } = useResource(
    async (signal) => {
      if (id === null || task_id === null) return undefined;
      const [{ name, taskset, attempts }, { data }] = await Promise.all([
        service.evaluations.get(id, { signal }),
        service.evaluations.attempts(id, { task_id, model, limit: MOST_ATTEMPTS }, { signal }),
      ]);
      return { name: name ?? taskset.name, attempts, rows: data };
    },
    [id, task_id, model],
  );
  if (id === null || task_id === null || attempt_index === null) return null;
  const known = resource.state === 'ready' ? resource.value : undefined;
  return (
    <nav class="evaluation-links" aria-label="Evaluation">
      <span>
        {`Attempt ${attempt_index}${known === undefined ? '' : ` of ${known.attempts}`} of task `}
        <a href={`/evaluations/${id}?${new URLSearchParams({ text: task_id })}`}>{preview(task_id, 80)}</a>
        {' in '}
        <a href={`/evaluations/${id}`}>{known?.name ?? id.slice(0, 13)}</a>
        {rerun === 0 ? null : <span class="quiet">{`, run ${rerun + 1} of it`}</span>}
      </span>
      {known === undefined ? null : (
        <>
          <Neighbour title="← Earlier attempt" row={attemptAt(known.rows, attempt_index - 1)} />
          <Neighbour title="Later attempt →" row={attemptAt(known.rows, attempt_index + 1)} />
          {superseded ? (
            <Neighbour title="It was run again: the latest run" row={attemptAt(known.rows, attempt_index)} />
          ) : null}
        </>
      )}
    </nav>
  );
}

function Neighbour({ title, row }: { readonly title: string; readonly row: EvaluationAttempt | undefined }) {
  if (row === undefined || row.trace_id === null) return null;
  return <a href={`/traces/${row.trace_id}`}>{title}</a>;
}

function attemptAt(rows: readonly EvaluationAttempt[], attemptIndex: number): EvaluationAttempt | undefined {
  return rows.find(({ attempt_index }) => attempt_index === attemptIndex);
}
