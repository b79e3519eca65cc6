import { useState } from 'preact/hooks';
import type { Report } from '../../../../contract/service/evaluation.ts';
import { countText, grouped } from '../../../../support/text/figures.ts';
import { Later } from '../../components/later.tsx';
import { Legend } from './legend.tsx';
import type { MatrixState } from './matrix-feed.ts';
import { MatrixFilters } from './matrix-filters.tsx';
import { MatrixView } from './matrix-view.tsx';
import type { Matrix } from './use-matrix.ts';

/** The tasks with a cell for each attempt. */
export function TaskSection({
  evaluationId,
  reports,
  matrix,
  state,
  query,
}: {
  readonly evaluationId: string;
  /** Empty until they are read. */
  readonly reports: readonly Report[];
  readonly matrix: Matrix;
  readonly state: MatrixState;
  readonly query: URLSearchParams;
}) {
  const [task, setTask] = useState<string | undefined>(undefined);
  const { page } = state;
  const means = page.shown.map((model) => reports.find((report) => report.model === model)?.mean ?? null);
  return (
    <section id="tasks" class="tasks">
      <div class="tasks-head">
        <h2>
          Tasks{' '}
          <span class="quiet small" role="status">
            {page.matched === page.tasks
              ? grouped(page.tasks)
              : `${grouped(page.matched)} of ${countText(page.tasks, 'task')} match`}
          </span>
        </h2>
        <Legend page={page} />
      </div>
      <MatrixFilters query={query} page={page} />
      {page.matched === 0 ? (
        <p class="matrix-nothing quiet">No task matches the filters.</p>
      ) : (
        <MatrixView state={state} means={means} show={matrix.show} onTask={setTask} />
      )}
      {task === undefined ? null : (
        <Later load={() => import('./task-dialog.tsx')}>
          {({ TaskDialog }) => (
            <TaskDialog evaluationId={evaluationId} taskId={task} onClose={() => setTask(undefined)} />
          )}
        </Later>
      )}
    </section>
  );
}
