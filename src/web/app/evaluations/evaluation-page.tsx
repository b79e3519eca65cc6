import { Fragment } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { ApiError } from '../../../contract/errors.ts';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { service } from '../api.ts';
import { Later } from '../components/later.tsx';
import { Empty, Failure, Loading } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { EvaluationHeader } from './evaluation-header.tsx';
import { GradesChoice, gradesOf } from './matrix/grades-choice.tsx';
import { toMatrixQuery } from './matrix/matrix-filters.tsx';
import { TaskSection } from './matrix/task-section.tsx';
import { useMatrix } from './matrix/use-matrix.ts';
import { ModelComparison } from './model-comparison.tsx';
import { ReportList } from './report-list.tsx';
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
    (signal) => service.evaluations.get(evaluationId, { signal, ...gradesOf(query) }),
    [evaluationId, query.get('grades')],
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
  // The report of a large evaluation takes its time; its attempts are there before.
  const known = matrix.state;
  if (evaluation === undefined && known === undefined && matrix.error === undefined)
    return <Loading what="Reading the evaluation" />;
  const refresh = () => {
    reload();
    matrix.refresh();
  };
  return (
    <div class="page evaluation">
      {evaluation === undefined ? (
        <div class="evaluation-waits">
          <h1>Evaluation</h1>
          <Loading what="Reading the reports" />
        </div>
      ) : (
        <Fragment key="report">
          <EvaluationHeader evaluation={evaluation} live={known} onDone={refresh} />
          {isEnded(evaluation.status) ? <GradesChoice evaluationId={evaluationId} query={query} /> : null}
          <Results evaluation={evaluation} query={query} />
        </Fragment>
      )}
      {known === undefined ? (
        matrix.error === undefined ? (
          <Loading what="Reading the attempts" />
        ) : (
          <Failure error={matrix.error} retry={matrix.refresh} />
        )
      ) : (
        // Keyed, or the report would take the place of the attempts when it comes, and whoever is in them lose the focus.
        <Fragment key="attempts">
          <TaskSection
            evaluationId={evaluationId}
            reports={evaluation?.reports ?? []}
            matrix={matrix}
            state={known}
            query={query}
          />
          {evaluation === undefined ? null : (
            <Later load={() => import('./evaluation-figures.tsx')}>
              {({ EvaluationFigures }) => <EvaluationFigures evaluation={evaluation} page={known.page} query={query} />}
            </Later>
          )}
        </Fragment>
      )}
    </div>
  );
}

function Results({ evaluation, query }: { readonly evaluation: EvaluationDetail; readonly query: URLSearchParams }) {
  return (
    <section class="results" aria-label="Mean reward">
      <h2>
        Mean reward <span class="quiet small">of the task means, with 95 % intervals</span>
      </h2>
      <ReportList evaluation={evaluation} />
      <ModelComparison evaluation={evaluation} query={query} />
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
