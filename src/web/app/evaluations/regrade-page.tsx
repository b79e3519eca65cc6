import { useState } from 'preact/hooks';
import type { Regrade, RegradeRow } from '../../../contract/service/regrade.ts';
import { rewardText } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { rewardKind } from '../components/reward.tsx';
import { Failure, Loading } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { usePacedReload } from './use-paced-reload.ts';

/** Rows that the page shows; those that changed, differ or failed come first. */
const MOST_ROWS = 500;

/** A regrade job: its progress, and the rewards that changed. */
export function RegradePage({ jobId }: { readonly jobId: string }) {
  usePageTitle('Graded again');
  const { resource, reload } = usePacedReload(
    async (signal) => {
      const job = await service.regrades.get(jobId, { limit: MOST_ROWS }, { signal });
      const outcomes = ['differs', 'failed', 'changed'] as const;
      const pages = outcomes.map((outcome) => service.regrades.get(jobId, { outcome, limit: MOST_ROWS }, { signal }));
      return { job, rows: (await Promise.all(pages)).flatMap(({ rows }) => rows) };
    },
    [jobId],
    ({ job }) => job.status === 'running',
  );
  if (resource.state === 'failed') return <Failure error={resource.error} retry={reload} />;
  if (resource.state === 'loading') return <Loading what="Reading the grades" />;
  const { job, rows } = resource.value;
  return (
    <div class="page regrade">
      <h1>Graded again</h1>
      <p>
        {job.evaluation_id === null ? (
          <a href={`/traces/${job.trace_id}`}>The trace</a>
        ) : (
          <a href={`/evaluations/${job.evaluation_id}`}>The evaluation</a>
        )}
      </p>
      <p class="quiet">{`${formatTime(job.created_at)} UTC`}</p>
      <Progress job={job} />
      {job.status === 'running' ? <Cancel jobId={jobId} onDone={reload} /> : null}
      {job.models.length === 0 ? null : <Models models={job.models} />}
      {rows.length === 0 ? null : <Rows rows={rows} />}
    </div>
  );
}

function Progress({ job: { status, progress } }: { readonly job: Regrade }) {
  const { total, done, same, changed, differs, failed } = progress;
  return (
    <p role="status">
      {status === 'completed' ? '' : `${status === 'running' ? '' : 'cancelled, '}${done} of ${total} done: `}
      {`${same} as before, ${changed} changed, `}
      <span class={differs + failed > 0 ? 'bad-text' : ''}>{`${differs} differ, ${failed} failed`}</span>
    </p>
  );
}

function Cancel({ jobId, onDone }: { readonly jobId: string; onDone(): void }) {
  const [isAsked, setIsAsked] = useState(false);
  const [problem, setProblem] = useState('');
  const cancel = async () => {
    setIsAsked(true);
    try {
      await service.regrades.cancel(jobId);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
    onDone();
  };
  return (
    <p>
      <button type="button" class="button" disabled={isAsked} onClick={() => void cancel()}>
        Cancel
      </button>{' '}
      {problem === '' ? null : (
        <span class="bad-text" role="alert">
          {problem}
        </span>
      )}
    </p>
  );
}

function Models({ models }: { readonly models: Regrade['models'] }) {
  return (
    <table class="grades">
      <caption>Mean rewards</caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Before</th>
          <th scope="col">Now</th>
          <th scope="col">Changed</th>
        </tr>
      </thead>
      <tbody>
        {models.map(({ model, mean_before, mean_after, changed, graded }) => (
          <tr key={model}>
            <th scope="row">{model}</th>
            <td class="number">{rewardText(mean_before)}</td>
            <td class="number">{rewardText(mean_after)}</td>
            <td class="number">{`${changed} of ${graded}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Rows({ rows }: { readonly rows: readonly RegradeRow[] }) {
  return (
    <table class="grades">
      <caption>Runs that did not come out as before</caption>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Model</th>
          <th scope="col">Before</th>
          <th scope="col">Now</th>
          <th scope="col">What happened</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.trace_id}>
            <th scope="row">
              <a href={`/traces/${row.trace_id}`}>{row.task_id ?? row.trace_id.slice(0, 12)}</a>
            </th>
            <td>{row.model}</td>
            <td class={`number ${rewardKind(row.before)}`}>{rewardText(row.before)}</td>
            <td class={`number ${rewardKind(row.after)}`}>{rewardText(row.after)}</td>
            <td>
              {row.replay_trace_id === null ? (
                wordsOf(row)
              ) : (
                <a href={`/traces/${row.replay_trace_id}`}>{wordsOf(row)}</a>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function wordsOf({ outcome, difference, error }: RegradeRow): string {
  if (outcome === 'differs') {
    return difference?.step ? `differs at step ${difference.step}` : `differs at the ${difference?.at ?? 'start'}`;
  }
  return outcome === 'failed' ? `failed: ${error?.message ?? ''}` : (outcome ?? 'waits');
}
