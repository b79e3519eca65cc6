import type { EvaluationAttempt } from '../../../../contract/service/evaluation.ts';
import { durationText, grouped, moneyText } from '../../../../support/text/figures.ts';
import { preview } from '../../../format.ts';
import { service } from '../../api.ts';
import { comparePath, MOST_COMPARED } from '../../compare/compare-path.ts';
import { Dialog } from '../../components/dialog.tsx';
import { Reward } from '../../components/reward.tsx';
import { Loaded } from '../../components/states.tsx';
import { type Column, figureColumn, Table } from '../../components/table.tsx';
import { useResource } from '../../use-resource.ts';
import { LOOKS } from '../states.ts';

const MOST_ATTEMPTS = 200;

/** All attempts of one task, with what each has cost. */
export function TaskDialog({
  evaluationId,
  taskId,
  onClose,
}: {
  readonly evaluationId: string;
  readonly taskId: string;
  onClose(): void;
}) {
  const { resource, reload } = useResource(
    (signal) => service.evaluations.attempts(evaluationId, { task_id: taskId, limit: MOST_ATTEMPTS }, { signal }),
    [evaluationId, taskId],
  );
  return (
    <Dialog title={`Task ${taskId}`} kind="wide" onClose={onClose}>
      <Loaded resource={resource} retry={reload}>
        {({ data, next_cursor }) => (
          <>
            <Table
              label="Attempts of the task"
              columns={COLUMNS}
              rows={data}
              keyOf={({ model, attempt_index }) => `${model} ${attempt_index}`}
            />
            {next_cursor === null ? null : <p class="quiet">{`These are the first ${MOST_ATTEMPTS} attempts.`}</p>}
            <p class="form-actions dialog-actions">
              <SideBySide attempts={data} />
              <a class="button" href={`/?${new URLSearchParams({ evaluation_id: evaluationId, task_id: taskId })}`}>
                Its runs
              </a>
            </p>
          </>
        )}
      </Loaded>
    </Dialog>
  );
}

/** One attempt of each model, or several of the only one. */
function SideBySide({ attempts }: { readonly attempts: readonly EvaluationAttempt[] }) {
  const traced = attempts.filter(({ trace_id }) => trace_id !== null);
  const firsts = traced.filter(({ model }, index) => traced.findIndex((other) => other.model === model) === index);
  const shown = (firsts.length > 1 ? firsts : traced).slice(0, MOST_COMPARED);
  if (shown.length < 2) return null;
  return (
    <a class="button" href={comparePath(shown.map(({ trace_id }) => trace_id ?? ''))}>
      {firsts.length > 1 ? 'The models side by side' : 'Attempts side by side'}
    </a>
  );
}

const COLUMNS: readonly Column<EvaluationAttempt>[] = [
  { name: 'model', title: 'Model', cell: ({ model }) => model },
  {
    name: 'attempt',
    title: 'Attempt',
    cell: ({ trace_id, attempt_index, reruns }) => (
      <>
        {trace_id === null ? attempt_index : <a href={`/traces/${trace_id}`}>{attempt_index}</a>}
        {reruns === 0 ? null : <span class="quiet small">{` run ${reruns + 1}`}</span>}
      </>
    ),
  },
  { name: 'reward', title: 'Reward', isNumber: true, cell: ({ reward }) => <Reward reward={reward} /> },
  {
    name: 'outcome',
    title: 'Outcome',
    cell: ({ outcome, trace_id, error }) => (
      <>
        {outcome === null ? LOOKS[trace_id === null ? 'none' : 'running'].title : LOOKS[outcome].title}
        {error === null ? null : (
          <div class="bad-text small">{`${error.boundary}: ${preview(error.message, 200)}`}</div>
        )}
      </>
    ),
  },
  figureColumn('Steps', ({ steps }) => grouped(steps)),
  figureColumn('Tokens', ({ usage }) => grouped(usage.total_tokens)),
  figureColumn('Cost', ({ cost_usd }) => (cost_usd === null ? '–' : moneyText(cost_usd))),
  figureColumn('Duration', ({ duration_ms }) => (duration_ms === null ? '–' : durationText(duration_ms))),
];
