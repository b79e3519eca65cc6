import { useEffect, useMemo } from 'preact/hooks';
import type { EvaluationDetail } from '../../../contract/evaluation.ts';
import { ApiError } from '../../../service-client/api-error.ts';
import { service } from '../api.ts';
import { Empty, Failure, Loading } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { Distribution } from './distribution.tsx';
import { EvaluationHeader } from './evaluation-header.tsx';
import { isEnded } from './figures.ts';
import { toMatrixQuery } from './matrix-filters.tsx';
import { ModelComparison } from './model-comparison.tsx';
import { OutcomeTable } from './outcome-table.tsx';
import { ReportList } from './report-list.tsx';
import { ReportTable } from './report-table.tsx';
import { TaskSection } from './task-section.tsx';
import { useMatrix } from './use-matrix.ts';
import { usePacedReload } from './use-paced-reload.ts';

/** One evaluation: its result, and every attempt of it. It follows one that goes on. */
export function EvaluationPage({
  evaluationId,
  query,
}: {
  readonly evaluationId: string;
  readonly query: URLSearchParams;
}) {
  const { resource, reload } = usePacedReload(
    (signal) => service.evaluations.get(evaluationId, { signal }),
    [evaluationId],
    ({ status }) => !isEnded(status),
  );
  const chosen = useMemo(() => toMatrixQuery(query), [query.toString()]);
  const matrix = useMatrix(evaluationId, chosen);
  const evaluation = resource.state === 'ready' ? resource.value : undefined;
  usePageTitle(evaluation?.name ?? evaluation?.taskset.name ?? 'Evaluation');
  // The small replies of the matrix are there first.
  const liveStatus = matrix.state?.status;
  useEffect(() => {
    if (evaluation !== undefined && liveStatus !== undefined && liveStatus !== evaluation.status) reload();
  }, [liveStatus]);
  const error = resource.state === 'failed' ? resource.error : matrix.error;
  if (isGone(error)) return <NotThere />;
  if (evaluation === undefined && resource.state === 'failed') return <Failure error={resource.error} retry={reload} />;
  if (evaluation === undefined) return <Loading what="Reading the evaluation" />;
  const refresh = () => {
    reload();
    matrix.refresh();
  };
  return (
    <div class="page evaluation">
      <EvaluationHeader evaluation={evaluation} live={matrix.state} onDone={refresh} />
      <Results evaluation={evaluation} />
      {matrix.state === undefined ? (
        matrix.error === undefined ? (
          <Loading what="Reading the attempts" />
        ) : (
          <Failure error={matrix.error} retry={matrix.refresh} />
        )
      ) : (
        <>
          <TaskSection evaluation={evaluation} matrix={matrix} state={matrix.state} query={query} />
          <section class="evaluation-split">
            <div>
              <h2>Outcomes</h2>
              <OutcomeTable
                models={matrix.state.page.models}
                threshold={matrix.state.page.pass_threshold}
                query={query}
              />
            </div>
            <div>
              <h2>Rewards</h2>
              <Distribution models={matrix.state.page.models} />
            </div>
          </section>
        </>
      )}
      <section>
        <h2>Figures</h2>
        <ReportTable evaluation={evaluation} />
      </section>
    </div>
  );
}

function Results({ evaluation }: { readonly evaluation: EvaluationDetail }) {
  return (
    <section class="results" aria-label="Mean reward">
      <h2>
        Mean reward <span class="quiet small">of the task means, with 95 % intervals</span>
      </h2>
      <ReportList evaluation={evaluation} />
      <ModelComparison evaluation={evaluation} />
    </section>
  );
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

function NotThere() {
  return (
    <Empty title="There is no such evaluation">
      <p>It was deleted, or it belongs to another account.</p>
      <p>
        <a href="/evaluations">All evaluations</a>
      </p>
    </Empty>
  );
}
