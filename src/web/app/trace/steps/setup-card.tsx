import { useContext } from 'preact/hooks';
import { durationText, grouped } from '../../../../support/text/figures.ts';
import { JsonTree } from '../../components/json-tree.tsx';
import { LongText } from '../../components/long-text.tsx';
import { Marked, useIsFound } from '../../components/marked.tsx';
import type { Entry, Stamped } from '../timeline.ts';
import { TraceContext } from '../view-context.ts';
import { MessageContent } from './content-block.tsx';

/** Input of the model: system text, prompt, tools. */
export function SetupCard({ id, event }: Extract<Entry, { kind: 'setup' }>) {
  const { hidden } = useContext(TraceContext);
  if (hidden.has('prompt')) return null;
  return (
    <article class="card-block setup" aria-label="Prompt">
      <header class="entry-head">
        <h3>
          <a href={`#${id}`}>Prompt</a>
        </h3>
        <span class="quiet entry-facts">{`set up in ${durationText(event.duration_ms)}`}</span>
      </header>
      {event.system === null || event.system === '' ? null : <SystemText text={event.system} />}
      <Messages messages={event.prompt} />
      {event.answer_schema === null ? null : (
        <details class="more">
          <summary>The form of an answer</summary>
          <JsonTree value={event.answer_schema} />
        </details>
      )}
      <OfferedTools tools={event.tools} />
    </article>
  );
}

/** Messages of one turn of a session; those of the first are the prompt. */
export function Messages({ messages }: { readonly messages: Stamped<'turn.started'>['messages'] }) {
  return (
    <>
      {messages.map(({ role, content }, index) => (
        <div key={index} class={`message ${role}`}>
          {role === 'user' && messages.length === 1 ? null : <h4>{role}</h4>}
          <MessageContent content={content} />
        </div>
      ))}
    </>
  );
}

function SystemText({ text }: { readonly text: string }) {
  const isFound = useIsFound(() => text);
  return (
    <details class="more" open={isFound}>
      <summary>{`System text (${grouped(text.length)} characters)`}</summary>
      <LongText text={text} />
    </details>
  );
}

function OfferedTools({ tools }: { readonly tools: Stamped<'setup.completed'>['tools'] }) {
  const isFound = useIsFound(() => JSON.stringify(tools));
  if (tools.length === 0) return <p class="quiet">No tools were on offer.</p>;
  return (
    <details class="more" open={isFound}>
      <summary>
        {`Tools on offer (${grouped(tools.length)}): `}
        <span class="quiet">{tools.map(({ name }) => name).join(', ')}</span>
      </summary>
      {tools.map((tool) => (
        <section key={tool.name} class="offered-tool">
          <h4>
            <code>
              <Marked text={tool.name} />
            </code>
          </h4>
          <LongText text={tool.description} />
          <JsonTree value={tool.input_schema} />
        </section>
      ))}
    </details>
  );
}
