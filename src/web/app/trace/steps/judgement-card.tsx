import { countText, durationText, rewardText } from '../../../../support/text/figures.ts';
import { LongText } from '../../components/long-text.tsx';
import { Marked } from '../../components/marked.tsx';
import { rewardKind } from '../../components/reward.tsx';
import type { Entry } from '../timeline.ts';

/** A verdict of a judge with its votes, or why there is none. Rubric, material and reasons are texts, whatever they hold. */
export function JudgementCard({ id, event }: Extract<Entry, { kind: 'judgement' }>) {
  const { model, rubric, material, duration_ms } = event;
  const hasFailed = event.type === 'judge.failed';
  const facts = [model, !hasFailed && event.repeated ? 'repeated' : durationText(duration_ms)];
  if (!hasFailed) facts.push(countText(event.votes.length, 'vote'));
  if (!hasFailed && event.votes.length > 1) facts.push(`agreement ${rewardText(event.agreement)}`);
  return (
    <article class="card-block outcome voice-judge" aria-label="Judge">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Judge</a>
        </h3>
        <span class="quiet entry-facts">{facts.join(' · ')}</span>
        {hasFailed ? (
          <span class="badge failed">no verdict</span>
        ) : (
          <span class={`number ${rewardKind(event.score)}`}>{rewardText(event.score)}</span>
        )}
      </header>
      <LongText text={rubric} />
      {hasFailed ? (
        <p class="bad-text">
          <Marked text={event.message} />
        </p>
      ) : (
        <ul class="votes">
          {event.votes.map((vote, index) => (
            <li key={index}>
              <span class={`number ${rewardKind(vote.score)}`}>{rewardText(vote.score)}</span>{' '}
              <Marked text={vote.reason} />
            </li>
          ))}
        </ul>
      )}
      <details class="more">
        <summary>What it judged</summary>
        <LongText text={material} />
      </details>
    </article>
  );
}
