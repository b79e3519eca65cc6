import type { ComponentChildren } from 'preact';
import type { EvaluationDetail } from '../../../contract/evaluation.ts';
import { CELL_LETTERS, type CellState } from '../../evaluations/evaluation-data.ts';
import { formatCost, formatCount, formatCountOf, formatTime } from '../../format.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Controls } from './controls.tsx';
import { formatLong, formatTokens, isEnded } from './figures.ts';
import type { MatrixState } from './matrix-feed.ts';
import { ProgressBar, StatusBadge } from './status-badge.tsx';
import { TrainButton } from './train-button.tsx';

/** An evaluation, how far it is, and what can be done with it. */
export function EvaluationHeader({
  evaluation,
  live,
  onDone,
}: {
  readonly evaluation: EvaluationDetail;
  readonly live: MatrixState | undefined;
  onDone(): void;
}) {
  const { name, taskset, models, attempts, status, progress } = evaluation;
  // To the counts it is an end like any other; to a reader it is what never came to one.
  const cancelled = progress.outcomes.cancelled ?? 0;
  const done = Math.max(0, (live?.done ?? progress.done) - cancelled);
  return (
    <header class="evaluation-header">
      <div class="evaluation-title">
        <h1>{name ?? taskset.name ?? 'Evaluation'}</h1>
        <p class="evaluation-what">
          <StatusBadge status={status} />
          {live?.isAway ? <span class="badge failed">connection lost, trying again</span> : null}
          <span>
            {`${formatCountOf(taskset.tasks, 'task')} × ${formatCountOf(models.length, 'model')} × ${formatCountOf(attempts, 'attempt')}`}
          </span>
          <span class="quiet">{`${formatTime(evaluation.created_at)} UTC`}</span>
        </p>
      </div>
      <div class="evaluation-controls">
        <TrainButton evaluation={evaluation} />
        <Controls evaluation={evaluation} onDone={onDone} />
      </div>
      <div class="evaluation-progress">
        {status === 'completed' ? null : <ProgressBar done={done} total={progress.total} />}
        <span>
          {`${formatCount(done)} of ${formatCount(progress.total)} attempts have ended`}
          <span class="quiet">
            {cancelled === 0 ? '' : ` · ${formatCount(cancelled)} cancelled`}
            {describeOpen(live, status)}
          </span>
        </span>
      </div>
      <dl class="evaluation-facts">
        <Fact name="Spent">{describeSpent(evaluation)}</Fact>
        <Fact name="Took">{describeTime(evaluation)}</Fact>
        <Fact name="Reruns">{formatCount(progress.reruns)}</Fact>
        <Fact name="Concurrency">{formatCount(evaluation.concurrency)}</Fact>
        <Fact name="Passes with">{`reward ≥ ${evaluation.pass_threshold}`}</Fact>
        <Fact name="Taskset">
          {taskset.name ?? 'tasks of the request'} <code title={taskset.version}>{taskset.version.slice(0, 10)}</code>
          <CopyButton text={() => taskset.version} label="Copy the version of the taskset" />
        </Fact>
        {evaluation.parent === null ? null : (
          <Fact name="Tries again what failed in">
            <a href={`/evaluations/${evaluation.parent}`}>{evaluation.parent.slice(0, 13)}</a>
          </Fact>
        )}
        <Fact name="Runs">
          <a href={`/?evaluation_id=${evaluation.evaluation_id}`}>in the list</a>
        </Fact>
        {isEnded(status) ? (
          <Fact name="Training">
            <a href={`/training?evaluation=${evaluation.evaluation_id}`}>train on its successful runs</a>
          </Fact>
        ) : null}
        <Fact name="Export">
          <code>proctor export</code>
          <CopyButton
            text={() =>
              `npx proctor export ${evaluation.evaluation_id} --format inspect --out ${evaluation.evaluation_id}.eval`
            }
            label="Copy the command that exports these runs"
          />
        </Fact>
      </dl>
      <Warnings evaluation={evaluation} />
    </header>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Warnings({ evaluation: { changed_environments, suspects } }: { readonly evaluation: EvaluationDetail }) {
  const [suspect] = suspects;
  return (
    <>
      {changed_environments.length === 0 ? null : (
        <p class="evaluation-warning">
          {`The code of ${changed_environments.join(', ')} has changed while this went on: the attempts were not all played on the same state of it.`}
        </p>
      )}
      {suspect === undefined ? null : (
        <p class="evaluation-warning">
          {`${formatCountOf(suspects.length, 'attempt')} ended the process of the environment each time: ${suspect.task_id} with ${suspect.model}${suspects.length > 1 ? ' and others' : ''}. The agent may have done it.`}
        </p>
      )}
    </>
  );
}

function describeOpen(live: MatrixState | undefined, status: EvaluationDetail['status']): string {
  if (live === undefined || isEnded(status)) return '';
  const count = (state: CellState) =>
    live.page.models.reduce((sum, { counts }) => sum + (counts[CELL_LETTERS[state]] ?? 0), 0);
  const [running, waiting] = [count('running'), count('waiting')];
  return [
    running === 0 ? '' : ` · ${formatCount(running)} running`,
    waiting === 0 ? '' : ` · ${formatCount(waiting)} to be run again`,
    status === 'paused' ? ' · no more begin until it is resumed' : '',
  ].join('');
}

function describeSpent({ progress: { spent }, budget }: EvaluationDetail): string {
  const usd = spent.usd === null ? '' : spent.usd === 0 ? '$0' : formatCost(spent.usd);
  const tokens = `${formatTokens(spent.tokens)} tokens`;
  if (budget?.usd !== undefined) return `${usd || '$?'} of ${formatCost(budget.usd)} · ${tokens}`;
  if (budget?.tokens !== undefined) return `${tokens} of ${formatTokens(budget.tokens)}`;
  return [usd, tokens].filter((text) => text !== '').join(' · ');
}

function describeTime({ created_at, finished_at }: EvaluationDetail): string {
  const end = finished_at === null ? Date.now() : Date.parse(finished_at);
  return formatLong(Math.max(0, end - Date.parse(created_at)));
}
