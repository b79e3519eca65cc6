import type { TraceSummary } from '../../../contract/service/trace.ts';
import { rewardText } from '../../../support/text/figures.ts';
import { formatTime, preview } from '../../format.ts';
import { Reward, rewardKind, Status } from '../components/reward.tsx';
import { comparePath } from './compare-path.ts';
import { LETTERS } from './compared-rows.ts';
import { describeDelta, type Fact, factsOf, type Score, scoresOf } from './run-facts.ts';

/** The runs and their results. */
export function RunCards({ traces }: { readonly traces: readonly TraceSummary[] }) {
  return (
    <ol class="run-cards" aria-label="The runs">
      {traces.map((trace, index) => (
        <li key={trace.trace_id}>
          <RunCard traces={traces} trace={trace} index={index} />
        </li>
      ))}
    </ol>
  );
}

/** Subscores, costs, and the inputs that differ. */
export function RunTable({ traces }: { readonly traces: readonly TraceSummary[] }) {
  const scores = scoresOf(traces);
  return (
    <table class="run-table">
      <caption class="visually-hidden">Subscores and figures</caption>
      <thead>
        <tr>
          <td />
          {traces.map(({ trace_id }, index) => (
            <th key={trace_id} scope="col">
              <span class="letter">{LETTERS[index]}</span>
            </th>
          ))}
        </tr>
      </thead>
      {scores.length === 0 ? null : (
        <tbody>
          {scores.map((score) => (
            <ScoreRow key={score.name} score={score} />
          ))}
        </tbody>
      )}
      <tbody>
        {factsOf(traces).map((fact, index) => (
          <FactRow key={index} fact={fact} />
        ))}
      </tbody>
    </table>
  );
}

interface RunCardProps {
  readonly traces: readonly TraceSummary[];
  readonly trace: TraceSummary;
  readonly index: number;
}

function RunCard({ traces, trace, index }: RunCardProps) {
  const { reward, status, stop_reason, error, trace_id } = trace;
  const delta = index === 0 ? '' : describeDelta(traces[0]?.reward ?? null, reward, rewardText);
  const ids = traces.map((each) => each.trace_id);
  const others = ids.filter((id) => id !== trace_id);
  return (
    <div class="run-card">
      <p class="run-card-head">
        <span class="letter">{LETTERS[index]}</span>
        <a href={`/traces/${trace_id}`}>{`${formatTime(trace.created_at)} UTC`}</a>
      </p>
      <p class="run-card-reward">
        <span class={`big-reward-value ${rewardKind(reward)}`} title={reward === null ? 'No reward' : 'Reward'}>
          {rewardText(reward)}
        </span>
        <Delta delta={delta} isJudged />
      </p>
      <p class="run-card-what">
        <Status status={status} stopReason={stop_reason} />
        <span>{trace.model}</span>
      </p>
      {error === null ? null : <p class="bad-text">{`${error.boundary}: ${preview(error.message, 200)}`}</p>}
      <p class="run-card-links">
        {index === 0 ? (
          <span class="quiet">{traces.length === 2 ? 'compared with B' : 'the others are compared with it'}</span>
        ) : (
          <a href={comparePath([trace_id, ...others])}>{`Put it first`}</a>
        )}
        {traces.length > 2 ? <a href={comparePath(others)}>Take it out</a> : null}
      </p>
    </div>
  );
}

function ScoreRow({ score: { name, values, numbers, deltas, isSame } }: { readonly score: Score }) {
  return (
    <tr class={isSame ? 'is-same' : ''}>
      <th scope="row">{name}</th>
      {values.map((_, index) => (
        <td key={index}>
          <Reward reward={numbers[index] ?? null} /> <Delta delta={deltas[index] ?? ''} isJudged />
        </td>
      ))}
    </tr>
  );
}

function FactRow({ fact: { name, values, deltas, isSame } }: { readonly fact: Fact }) {
  return (
    <tr class={isSame ? 'is-same' : ''}>
      <th scope="row">{name}</th>
      {values.map((value, index) => (
        <td key={index}>
          {value} <Delta delta={deltas[index] ?? ''} />
        </td>
      ))}
    </tr>
  );
}

/** A difference. With `isJudged`, more is better. */
function Delta({ delta, isJudged = false }: { readonly delta: string; readonly isJudged?: boolean }) {
  if (delta === '') return null;
  const tone = isJudged ? (delta.startsWith('+') ? 'full' : 'zero') : '';
  return <span class={`delta ${tone}`}>{delta}</span>;
}
