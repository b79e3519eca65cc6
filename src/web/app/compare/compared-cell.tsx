import { Reward } from '../components/reward.tsx';
import { Subscores } from '../trace/steps/outcome-cards.tsx';
import type { StepEntry } from '../trace/timeline.ts';
import { ComparedCall } from './compared-call.tsx';
import { type ComparedEntry, LETTERS } from './compared-rows.ts';
import { type Side, toComparedText } from './compared-text.ts';
import { ComparedProse, ComparedValue } from './compared-value.tsx';
import { type Aspect, pairCalls } from './differences.ts';
import { titleOf } from './first-difference.ts';

export interface ComparedCellProps {
  /** Index of the run. */
  readonly index: number;
  readonly traceId: string;
  readonly entry: ComparedEntry | undefined;
  /** Entry that this one is compared with, if any. */
  readonly against: ComparedEntry | undefined;
  readonly side: Side;
  /** Differences that the page counts. */
  readonly differences: readonly Aspect[];
  readonly isLive: boolean;
}

const TAGS: Readonly<Record<Aspect, string>> = {
  calls: 'other call',
  results: 'other result',
  text: 'other text',
  reasoning: 'other reasoning',
};

/** The entry of one run in one row. */
export function ComparedCell({ index, traceId, entry, against, side, differences, isLive }: ComparedCellProps) {
  const letter = LETTERS[index];
  if (entry === undefined) {
    return (
      <div class="compared-cell missing">
        <p class="quiet">
          <span class="letter">{letter}</span> {isLive ? 'Nothing yet' : 'Nothing here'}
        </p>
      </div>
    );
  }
  return (
    <div class={`compared-cell ${side}`}>
      <header class="cell-head">
        <span class="letter">{letter}</span>
        <a href={`/traces/${traceId}#${entry.id}`} aria-label={`${titleOf(entry)} of ${letter} in its trace`}>
          {titleOf(entry)}
        </a>
        {differences.map((kind) => (
          <span key={kind} class="differs-tag">
            {TAGS[kind]}
          </span>
        ))}
      </header>
      <Body entry={entry} against={against} side={side} isLive={isLive} />
    </div>
  );
}

type BodyProps<Kind extends ComparedEntry['kind'] = ComparedEntry['kind']> = Pick<
  ComparedCellProps,
  'side' | 'isLive'
> & {
  readonly entry: Extract<ComparedEntry, { kind: Kind }>;
  readonly against: ComparedEntry | undefined;
};

function Body({ entry, against, side, isLive }: BodyProps) {
  switch (entry.kind) {
    case 'setup':
      return <Setup entry={entry} against={against} side={side} isLive={isLive} />;
    case 'turn': {
      const other = against?.kind === 'turn' ? toMessages(against.event.messages) : undefined;
      return <ComparedProse text={toMessages(entry.event.messages)} against={other} side={side} />;
    }
    case 'user': {
      const other = against?.kind === 'user' ? (against.event.message ?? '') : undefined;
      return <ComparedProse text={entry.event.message ?? ''} against={other} side={side} />;
    }
    case 'step':
      return <Step entry={entry} against={against} side={side} isLive={isLive} />;
    case 'answer':
      return <Answer entry={entry} against={against} side={side} isLive={isLive} />;
    case 'evaluation':
      return <Evaluation entry={entry} against={against} side={side} isLive={isLive} />;
  }
}

function Setup({ entry, against, side }: BodyProps<'setup'>) {
  const { event } = entry;
  const other = against?.kind === 'setup' ? against.event : undefined;
  return (
    <>
      {event.system === null || event.system === '' ? null : (
        <>
          <h4>System text</h4>
          <ComparedProse text={event.system} against={other?.system ?? undefined} side={side} />
        </>
      )}
      <h4>Prompt</h4>
      <ComparedProse text={toMessages(event.prompt)} against={other && toMessages(other.prompt)} side={side} />
      <h4>Tools on offer</h4>
      <ComparedValue
        title="tools"
        text={toToolLines(event.tools)}
        against={other && toToolLines(other.tools)}
        side={side}
      />
    </>
  );
}

type Messages = Extract<ComparedEntry, { kind: 'turn' }>['event']['messages'];

function toMessages(messages: Messages): string {
  return messages
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n'),
    )
    .join('\n\n');
}

function toToolLines(tools: Extract<ComparedEntry, { kind: 'setup' }>['event']['tools']): string {
  return tools.map(({ name, description }) => `${name}: ${description.replace(/\s+/g, ' ')}`).join('\n');
}

function Step({ entry, against, side, isLive }: BodyProps<'step'>) {
  const message = entry.response?.message;
  const other = against?.kind === 'step' ? against : undefined;
  const otherMessage = other?.response?.message;
  if (message === undefined)
    return <p class={isLive ? 'quiet' : 'bad-text'}>{isLive ? 'No answer yet' : 'The model never answered.'}</p>;
  return (
    <>
      {message.reasoning ? (
        <div class="reasoning">
          <h4>Reasoning</h4>
          <ComparedProse text={message.reasoning} against={otherMessage?.reasoning ?? undefined} side={side} />
        </div>
      ) : null}
      {message.content ? (
        <ComparedProse text={message.content} against={otherMessage?.content ?? undefined} side={side} />
      ) : null}
      {message.refusal ? <p class="bad-text">{`Refused: ${message.refusal}`}</p> : null}
      {callsWithPartners(entry, other, side).map(({ call, partner }, index) => (
        <ComparedCall
          key={index}
          call={call}
          partner={partner}
          isCompared={other !== undefined}
          side={side}
          isLive={isLive}
        />
      ))}
    </>
  );
}

function callsWithPartners(step: StepEntry, other: StepEntry | undefined, side: Side) {
  if (other === undefined) return step.calls.map((call) => ({ call, partner: undefined }));
  const pairs = side === 'known' ? pairCalls(step.calls, other.calls) : pairCalls(other.calls, step.calls);
  return pairs.flatMap(({ known, other: fresh }) => {
    const [call, partner] = side === 'known' ? [known, fresh] : [fresh, known];
    return call === undefined ? [] : [{ call, partner }];
  });
}

function Answer({ entry, against, side }: BodyProps<'answer'>) {
  const { answer } = entry.event;
  const other = against?.kind === 'answer' ? against.event.answer : undefined;
  if (answer === '') return <p class="bad-text">The answer is an empty text.</p>;
  if (typeof answer === 'string')
    return <ComparedProse text={answer} against={typeof other === 'string' ? other : undefined} side={side} />;
  const known = against === undefined ? undefined : toComparedText(other);
  return <ComparedValue title="answer" text={toComparedText(answer)} against={known} side={side} />;
}

function Evaluation({ entry, against, side }: BodyProps<'evaluation'>) {
  const { evaluation } = entry.event;
  const other = against?.kind === 'evaluation' ? against.event.evaluation : undefined;
  return (
    <>
      <p class="cell-reward">
        <Reward reward={evaluation.reward} />
      </p>
      {evaluation.content === null || evaluation.content === '' ? null : (
        <ComparedProse text={evaluation.content} against={other?.content ?? undefined} side={side} />
      )}
      <Subscores subscores={evaluation.subscores} />
      {Object.keys(evaluation.info).length === 0 ? null : (
        <>
          <h4>What it found</h4>
          <ComparedValue
            title="info"
            text={toComparedText(evaluation.info)}
            against={other && toComparedText(other.info)}
            side={side}
          />
        </>
      )}
    </>
  );
}
