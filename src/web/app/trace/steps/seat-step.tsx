import type { JsonObject } from '../../../../contract/json.ts';
import type { LedgerEntry, StepInput } from '../../../../contract/service/trace.ts';
import { countText } from '../../../../support/text/figures.ts';
import { LongText } from '../../components/long-text.tsx';
import type { StepEntry } from '../timeline.ts';

/** Where the step of an agent at a seat belongs; nothing for any other step, and for the main conversation. */
export function BranchLabel({ request }: Pick<StepEntry, 'request'>) {
  if (request === undefined) return null;
  const { branch = null, compacted = false } = request;
  return (
    <>
      {branch === null ? null : (
        <span class="badge" title="Beside the main conversation: it does not count as a step of the run">
          {branch}
        </span>
      )}
      {compacted ? (
        <span class="badge" title="The agent has replaced what came before by a summary of its own">
          compacted
        </span>
      ) : null}
    </>
  );
}

/** A call that its gateway has not answered. */
export function CallFailure({ failure }: { readonly failure: NonNullable<StepEntry['failure']> }) {
  return (
    <p class="bad-text">{`The call failed, and the agent was answered with ${failure.status}: ${failure.message}`}</p>
  );
}

/** The messages that an agent sent with its call, since the step before. */
export function AgentInput({ input }: { readonly input: StepInput }) {
  if (input.messages.length === 0) return null;
  return (
    <details class="more agent-input">
      <summary>{`${countText(input.messages.length, 'message')} of the agent, by ${NAMES[input.dialect]}, to ${input.model}`}</summary>
      {input.messages.map((message, index) => (
        <section key={index}>
          <h4>{String(message.role)}</h4>
          <LongText text={textOf(message)} />
        </section>
      ))}
    </details>
  );
}

const NAMES: Readonly<Record<StepInput['dialect'], string>> = {
  chat: 'chat completions',
  responses: 'Responses',
  messages: 'Messages',
  gemini: 'Gemini',
};

function textOf({ content, tool_calls: calls }: JsonObject): string {
  const parts = Array.isArray(content) ? content : [content ?? ''];
  const texts = parts.map((part) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return String(part);
    return typeof part.text === 'string' ? part.text : `(${String(part.type)})`;
  });
  const made = Array.isArray(calls) && calls.length > 0 ? [JSON.stringify(calls)] : [];
  return [...texts, ...made].filter((text) => text !== '').join('\n');
}

/** Differences between what a model of the agent asked for, what the agent called, and what it told its model. */
export function Differences({ entries }: { readonly entries: readonly LedgerEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <section class="differences" aria-label="Differences">
      {entries.map((entry, index) => (
        <div key={index} class="difference">
          <h4>{`${entry.name}: ${MEANINGS[entry.kind]}`}</h4>
          <dl class="facts">
            {SIDES[entry.kind].map(([name, side]) => {
              const text = entry[side];
              return text === null ? null : (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <LongText text={text} />
                  </dd>
                </div>
              );
            })}
          </dl>
        </div>
      ))}
    </section>
  );
}

const MEANINGS: Readonly<Record<LedgerEntry['kind'], string>> = {
  not_called: 'the model asked for it, and the agent did not call it',
  result_changed: 'the agent told its model another result',
  not_asked_for: 'the agent called it, and no model asked for it',
};

type Side = 'expected' | 'reported';

const SIDES: Readonly<Record<LedgerEntry['kind'], readonly (readonly [string, Side])[]>> = {
  not_called: [
    ['Arguments', 'expected'],
    ['Told the model', 'reported'],
  ],
  result_changed: [
    ['Environment', 'expected'],
    ['Told the model', 'reported'],
  ],
  not_asked_for: [
    ['Arguments', 'reported'],
    ['Environment', 'expected'],
  ],
};
