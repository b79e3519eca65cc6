import { formatCountOf, formatDuration, formatReward } from '../../format.ts';
import { LongText } from '../components/long-text.tsx';
import { Marked } from '../components/marked.tsx';
import { rewardKind } from '../components/reward.tsx';
import type { Entry } from './timeline.ts';

/** A verdict of a judge with its votes. Rubric, material and reasons are texts, whatever they hold. */
export function JudgementCard({ id, event }: Extract<Entry, { kind: 'judgement' }>) {
  const { model, rubric, material, score, agreement, votes, duration_ms, repeated } = event;
  const facts = [model, repeated ? 'repeated' : formatDuration(duration_ms), formatCountOf(votes.length, 'vote')];
  if (votes.length > 1) facts.push(`agreement ${formatReward(agreement)}`);
  return (
    <article class="card-block outcome voice-judge" aria-label="Judge">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Judge</a>
        </h3>
        <span class="quiet entry-facts">{facts.join(' · ')}</span>
        <span class={`number ${rewardKind(score)}`}>{formatReward(score)}</span>
      </header>
      <LongText text={rubric} />
      <ul class="votes">
        {votes.map((vote, index) => (
          <li key={index}>
            <span class={`number ${rewardKind(vote.score)}`}>{formatReward(vote.score)}</span>{' '}
            <Marked text={vote.reason} />
          </li>
        ))}
      </ul>
      <details class="more">
        <summary>What it judged</summary>
        <LongText text={material} />
      </details>
    </article>
  );
}
