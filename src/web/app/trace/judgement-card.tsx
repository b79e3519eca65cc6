import { formatCountOf, formatDuration, formatReward } from '../../format.ts';
import { LongText } from '../components/long-text.tsx';
import { Marked } from '../components/marked.tsx';
import { rewardKind } from '../components/reward.tsx';
import type { Entry } from './timeline.ts';

const NO_VERDICT = { score: null, agreement: 0, votes: [] };

/** A verdict of a judge with its votes, or why it gave none. Rubric, material and reasons are texts, whatever they hold. */
export function JudgementCard({ id, event }: Extract<Entry, { kind: 'judgement' }>) {
  const { model, rubric, material, duration_ms } = event;
  const { score, agreement, votes } = event.type === 'judge.failed' ? NO_VERDICT : event;
  const facts = [model, formatDuration(duration_ms)];
  if (score !== null) facts.push(formatCountOf(votes.length, 'vote'));
  if (votes.length > 1) facts.push(`agreement ${formatReward(agreement)}`);
  return (
    <article class="card-block outcome voice-judge" aria-label="Judge">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Judge</a>
        </h3>
        <span class="quiet entry-facts">{facts.join(' · ')}</span>
        {score === null ? (
          <span class="bad-text">gave no verdict</span>
        ) : (
          <span class={`number ${rewardKind(score)}`}>{formatReward(score)}</span>
        )}
      </header>
      <LongText text={rubric} />
      {event.type === 'judge.failed' ? (
        <p class="bad-text">
          <Marked text={event.message} />
        </p>
      ) : null}
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
