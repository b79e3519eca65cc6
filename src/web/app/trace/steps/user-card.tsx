import { durationText } from '../../../../support/text/figures.ts';
import { JsonTree } from '../../components/json-tree.tsx';
import { LongText } from '../../components/long-text.tsx';
import { Marked } from '../../components/marked.tsx';
import type { Entry } from '../timeline.ts';

/** A reply of the simulated user, the third voice beside the agent and its tools. */
export function UserCard({ id, event }: Extract<Entry, { kind: 'user' }>) {
  const { message, is_over, model, calls, duration_ms, repeated } = event;
  return (
    <article class="card-block turn voice-user" aria-label="User">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>User</a>
        </h3>
        <span class="quiet entry-facts">
          {[...(model === null ? [] : [model]), repeated ? 'repeated' : durationText(duration_ms)].join(' · ')}
        </span>
        {is_over ? <span class="badge">ended the conversation</span> : null}
      </header>
      {calls.map((call, index) => (
        <details key={index} class="more">
          <summary>
            {'The user called '}
            <code>
              <Marked text={call.name} />
            </code>
            {call.is_error ? ', which failed' : ''}
          </summary>
          <JsonTree value={call.arguments} />
          <LongText text={call.text} />
        </details>
      ))}
      {message === null ? <p class="quiet">The user had nothing more to say.</p> : <LongText text={message} />}
    </article>
  );
}
