import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import type { MatrixPage } from '../../evaluations/evaluation-data.ts';
import { Distribution } from './distribution.tsx';
import { OutcomeTable } from './outcome-table.tsx';
import { ReportTable } from './report-table.tsx';

/** The part of the page below the tasks: outcomes, rewards and the other figures. */
export function EvaluationFigures({
  evaluation,
  page: { models, pass_threshold },
  query,
}: {
  readonly evaluation: EvaluationDetail;
  readonly page: MatrixPage;
  readonly query: URLSearchParams;
}) {
  return (
    <>
      <section class="evaluation-split">
        <div>
          <h2>Outcomes</h2>
          <OutcomeTable models={models} threshold={pass_threshold} query={query} />
        </div>
        <div>
          <h2>Rewards</h2>
          <Distribution models={models} />
        </div>
      </section>
      <section>
        <h2>Figures</h2>
        <ReportTable evaluation={evaluation} />
      </section>
    </>
  );
}
