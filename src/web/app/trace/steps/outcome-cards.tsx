import { durationText, grouped, rewardText } from '../../../../support/text/figures.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { JsonTree } from '../../components/json-tree.tsx';
import { LongText } from '../../components/long-text.tsx';
import { Marked } from '../../components/marked.tsx';
import { Reward, rewardKind } from '../../components/reward.tsx';
import type { Entry } from '../timeline.ts';

export function AnswerCard({ id, event: { answer } }: Extract<Entry, { kind: 'answer' }>) {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2);
  return (
    <article class="card-block outcome" aria-label="Answer">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Answer</a>
        </h3>
        <span class="entry-facts" />
        <span class="entry-tools">
          <CopyButton text={() => text} label="Copy the answer" />
        </span>
      </header>
      {answer === '' ? <p class="bad-text">The answer is an empty text.</p> : null}
      {typeof answer === 'string' && answer !== '' ? <LongText text={answer} /> : null}
      {typeof answer === 'string' ? null : <JsonTree value={answer} />}
    </article>
  );
}

export function EvaluationCard({ id, event }: Extract<Entry, { kind: 'evaluation' }>) {
  const { evaluation, duration_ms } = event;
  return (
    <article class={`card-block outcome evaluation ${rewardKind(evaluation.reward)}`} aria-label="Evaluation">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Evaluation</a>
        </h3>
        <span class="quiet entry-facts">{durationText(duration_ms)}</span>
        <Reward reward={evaluation.reward} />
      </header>
      {evaluation.content === null || evaluation.content === '' ? null : <LongText text={evaluation.content} />}
      <Subscores subscores={evaluation.subscores} />
      {Object.keys(evaluation.info).length === 0 ? null : (
        <>
          <h4>What it found</h4>
          <JsonTree value={evaluation.info} />
        </>
      )}
    </article>
  );
}

type Subscore = Extract<Entry, { kind: 'evaluation' }>['event']['evaluation']['subscores'][number];

/** Parts of the reward. */
export function Subscores({ subscores }: { readonly subscores: readonly Subscore[] }) {
  if (subscores.length === 0) return null;
  const isWeighted = subscores.some(({ weight }) => weight !== undefined && weight !== 1);
  return (
    <table class="subscores">
      <caption class="visually-hidden">Subscores</caption>
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Subscore</th>
          <th scope="col">Share</th>
          <th scope="col">Value</th>
          {isWeighted ? <th scope="col">Weight</th> : null}
        </tr>
      </thead>
      <tbody>
        {subscores.map(({ name, value, weight = 1 }, index) => (
          <tr key={index}>
            <th scope="row">
              <Marked text={name} />
            </th>
            <td class="subscore-bar">
              <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect class="bar-ground" width="100" height="6" />
                <rect
                  class={`bar-value ${rewardKind(value)}`}
                  width={Math.min(1, Math.max(0, value)) * 100}
                  height="6"
                />
              </svg>
            </td>
            <td class={`number ${rewardKind(value)}`}>{rewardText(value)}</td>
            {isWeighted ? <td class="number quiet">{`× ${grouped(weight)}`}</td> : null}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
