import type { Difference, Grade, Parent, ReplayResult } from '../../../contract/service/replay.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { rewardText } from '../../../support/text/figures.ts';
import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { rewardKind } from '../components/reward.tsx';
import { useResource } from '../use-resource.ts';

/** Children that are named; the list of runs has all of them. */
const MOST_CHILDREN = 20;

/** The trace that this one repeats, what came of the comparison, its grades, and the traces that repeat it. */
export function Repetitions({ trace }: { readonly trace: TraceSummary }) {
  const { trace_id: id, parent, replay, grades } = trace;
  const { resource } = useResource(
    (signal) => service.traces.list({ parent: id, limit: MOST_CHILDREN }, { signal }),
    [id],
  );
  const children = resource.state === 'ready' ? resource.value.data : [];
  if (parent === null && replay === null && grades.length === 0 && children.length === 0) return null;
  return (
    <section class="repetitions" aria-label="Repetitions">
      {parent === null ? null : <ParentLink parent={parent} />}
      {replay === null ? null : <Comparison replay={replay} />}
      {grades.length === 0 ? null : <Grades trace={trace} grades={grades} />}
      {children.length === 0 ? null : <Children traces={children} />}
    </section>
  );
}

function ParentLink({ parent: { trace_id, kind, after_step = 0 } }: { readonly parent: Parent }) {
  const step = kind === 'fork' && after_step > 0 ? `#step-${after_step}` : '';
  return (
    <p>
      {kind === 'replay' ? 'Replay of ' : `Continues after step ${after_step} of `}
      <a href={`/traces/${trace_id}${step}`}>
        <code>{trace_id.slice(0, 12)}</code>
      </a>
    </p>
  );
}

function Comparison({ replay: { identical, difference } }: { readonly replay: ReplayResult }) {
  if (identical || difference === null) return <p class="good-text">Nothing differs from the trace.</p>;
  return (
    <div class="replay-difference">
      <p class="bad-text">{`It differs at ${placeOf(difference)}.`}</p>
      <div class="replay-sides">
        <div>
          <h4>Before</h4>
          <JsonTree value={difference.before} />
        </div>
        <div>
          <h4>Now</h4>
          <JsonTree value={difference.after} />
        </div>
      </div>
    </div>
  );
}

function placeOf({ at, step, call }: Difference): string {
  if (step === null) return `the ${at}`;
  return step === 0 ? `call ${call}` : `step ${step}, call ${call}`;
}

/** The reward of the run and the later ones beside each other. */
function Grades({ trace, grades }: { readonly trace: TraceSummary; readonly grades: readonly Grade[] }) {
  return (
    <table class="grades">
      <caption>Grades</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Reward</th>
          <th scope="col">Environment</th>
          <th scope="col">Evaluation</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <td>the run</td>
          <td class={`number ${rewardKind(trace.reward)}`}>{rewardText(trace.reward)}</td>
          <td>{hashOf(trace.versions.environment_hash)}</td>
          <td>{trace.evaluation?.content ?? ''}</td>
        </tr>
        {grades.map(({ at, evaluation, environment_hash, current }) => (
          <tr key={at}>
            <td>{`${formatTime(at)} UTC${current ? ', current' : ''}`}</td>
            <td class={`number ${rewardKind(evaluation.reward)}`}>{rewardText(evaluation.reward)}</td>
            <td>{hashOf(environment_hash)}</td>
            <td>{evaluation.content ?? ''}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function hashOf(hash: string | null) {
  return <code>{hash === null ? '–' : hash.slice(0, 8)}</code>;
}

function Children({ traces }: { readonly traces: readonly TraceSummary[] }) {
  return (
    <details open={traces.length <= 3}>
      <summary>{`Repeated by ${traces.length === MOST_CHILDREN ? 'the newest of its repetitions' : traces.length}`}</summary>
      <ul class="repetition-list">
        {traces.map((child) => (
          <li key={child.trace_id}>
            <a href={`/traces/${child.trace_id}`}>
              <code>{child.trace_id.slice(0, 12)}</code>
            </a>{' '}
            {wordsOf(child)}
          </li>
        ))}
      </ul>
    </details>
  );
}

function wordsOf({ parent, replay, status, model, reward }: TraceSummary): string {
  if (parent?.kind === 'fork')
    return `continues after step ${parent.after_step} with ${model}: ${rewardOrStatus(reward, status)}`;
  if (replay === null) return `replay, ${status}`;
  return replay.identical ? 'replay, identical' : `replay, differs at the ${replay.difference?.at ?? 'end'}`;
}

function rewardOrStatus(reward: number | null, status: string): string {
  return reward === null ? status : `reward ${rewardText(reward)}`;
}
