import type { ComponentChildren } from 'preact';
import { isEnded } from '../../../contract/service/ended.ts';
import type { EvaluationDetail } from '../../../contract/service/evaluation.ts';
import { shortfallsOf } from '../../../support/text/evaluation-figures.ts';
import {
  countText,
  durationText,
  grouped,
  moneyText,
  thresholdText,
  tokensText,
} from '../../../support/text/figures.ts';
import { CELL_LETTERS, type CellState } from '../../evaluations/evaluation-data.ts';
import { formatTime } from '../../format.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { Controls } from './controls.tsx';
import type { MatrixState } from './matrix/matrix-feed.ts';
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
          {shortfallsOf(evaluation).map((shortfall) => (
            <span key={shortfall} class="badge shortfall">
              {shortfall}
            </span>
          ))}
          {live?.isAway ? <span class="badge failed">connection lost, trying again</span> : null}
          <span>
            {`${countText(taskset.tasks, 'task')} × ${countText(models.length, 'model')} × ${countText(attempts, 'attempt')}`}
          </span>
          <span class="quiet">{`${formatTime(evaluation.created_at)} UTC`}</span>
        </p>
      </div>
      <div class="evaluation-controls">
        <a
          class="button"
          href={`/v1/evaluations/${evaluation.evaluation_id}/attempts?format=csv`}
          download
          title="A row for each attempt, for a spreadsheet or pandas"
        >
          Table (CSV)
        </a>
        <TrainButton evaluation={evaluation} />
        <Controls evaluation={evaluation} onDone={onDone} />
      </div>
      <div class="evaluation-progress">
        {status === 'completed' ? null : <ProgressBar done={done} total={progress.total} />}
        <span>
          {`${grouped(done)} of ${grouped(progress.total)} attempts have ended`}
          <span class="quiet">
            {cancelled === 0 ? '' : ` · ${grouped(cancelled)} cancelled`}
            {describeOpen(live, evaluation)}
          </span>
        </span>
      </div>
      <dl class="evaluation-facts">
        <Fact name="Spent" title="With users, judges and reruns">
          {describeSpent(evaluation)}
        </Fact>
        <Fact name="Took">{describeTime(evaluation)}</Fact>
        <Fact name="Reruns">{grouped(progress.reruns)}</Fact>
        <Fact name="Concurrency">{grouped(evaluation.concurrency)}</Fact>
        <Fact name="Passes with">{`reward ≥ ${thresholdText(evaluation.pass_threshold)}`}</Fact>
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

interface FactProps {
  readonly name: string;
  readonly title?: string;
  readonly children: ComponentChildren;
}

function Fact({ name, title, children }: FactProps) {
  return (
    <div title={title}>
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
          {`${countText(suspects.length, 'attempt')} ended the process of the environment each time: ${suspect.task_id} with ${suspect.model}${suspects.length > 1 ? ' and others' : ''}. The agent may have done it.`}
        </p>
      )}
    </>
  );
}

function describeOpen(live: MatrixState | undefined, { status, progress }: EvaluationDetail): string {
  if (live === undefined || isEnded(status)) return '';
  const count = (state: CellState) =>
    live.page.models.reduce((sum, { counts }) => sum + (counts[CELL_LETTERS[state]] ?? 0), 0);
  const begun = count('running');
  const queued = Math.min(begun, progress.queued ?? 0);
  const [running, waiting] = [begun - queued, count('waiting')];
  return [
    running === 0 ? '' : ` · ${grouped(running)} running`,
    queued === 0 ? '' : ` · ${grouped(queued)} queued`,
    waiting === 0 ? '' : ` · ${grouped(waiting)} to be run again`,
    status === 'paused' ? ' · no more begin until it is resumed' : '',
  ].join('');
}

function describeSpent({ progress: { spent }, budget }: EvaluationDetail): string {
  const usd = spent.usd === null ? '' : moneyText(spent.usd);
  const tokens = `${tokensText(spent.tokens)} tokens`;
  if (budget?.usd !== undefined) return `${usd || '$?'} of ${moneyText(budget.usd)} · ${tokens}`;
  if (budget?.tokens !== undefined) return `${tokens} of ${tokensText(budget.tokens)}`;
  return [usd, tokens].filter((text) => text !== '').join(' · ');
}

function describeTime({ created_at, finished_at }: EvaluationDetail): string {
  const end = finished_at === null ? Date.now() : Date.parse(finished_at);
  return durationText(Math.max(0, end - Date.parse(created_at)));
}
