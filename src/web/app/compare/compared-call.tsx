import { useContext } from 'preact/hooks';
import { MarkedImage } from '../trace/steps/picture-view.tsx';
import { isShownType, toSource } from '../trace/steps/pictures.ts';
import type { CallView } from '../trace/timeline.ts';
import { TraceContext } from '../trace/view-context.ts';
import { isSameJson } from './canonical.ts';
import { type Side, toComparedText, toResultText } from './compared-text.ts';
import { ComparedValue } from './compared-value.tsx';
import { hasSameResult } from './differences.ts';

export interface ComparedCallProps {
  readonly call: CallView;
  /** Matching call of the other side. */
  readonly partner: CallView | undefined;
  /** False if there is no other side to compare with. */
  readonly isCompared: boolean;
  readonly side: Side;
  readonly isLive: boolean;
}

/** A tool call with the differences to its partner in arguments and result. */
export function ComparedCall({ call, partner, isCompared, side, isLive }: ComparedCallProps) {
  const { name, result } = call;
  const isFailed = result?.is_error === true;
  const isOtherTool = isCompared && partner?.name !== name;
  // Arguments of different tools cannot be compared.
  const known = isOtherTool ? undefined : partner;
  return (
    <section class={`call ${isFailed ? 'failed' : ''}`} aria-label={`Tool call ${name}`}>
      <header class="call-head">
        <code class="call-name">
          {isOtherTool ? <mark class={`differs ${side === 'known' ? 'removed' : 'added'}`}>{name}</mark> : name}
        </code>
        {isFailed ? <span class="tag bad">error</span> : null}
      </header>
      <div class="side">
        <Arguments call={call} partner={known} side={side} />
      </div>
      <div class="side compared-result">
        <h4>Result</h4>
        <Result call={call} partner={known} side={side} isLive={isLive} />
      </div>
    </section>
  );
}

type PartProps = Omit<ComparedCallProps, 'isCompared' | 'isLive'>;

function Arguments({ call, partner, side }: PartProps) {
  if (call.rawArguments !== null) {
    return (
      <>
        <p class="bad-text small">Not a JSON object. As the model wrote them:</p>
        <ComparedValue
          title="arguments"
          text={call.rawArguments}
          against={partner?.rawArguments ?? undefined}
          side={side}
        />
      </>
    );
  }
  const names = [...new Set([...Object.keys(call.arguments), ...Object.keys(partner?.arguments ?? {})])];
  if (names.length === 0) return <p class="quiet">No arguments</p>;
  return (
    <dl class="compared-arguments">
      {names.map((name) => (
        <Argument key={name} name={name} given={call.arguments} against={partner?.arguments} side={side} />
      ))}
    </dl>
  );
}

interface ArgumentProps {
  readonly name: string;
  readonly given: CallView['arguments'];
  readonly against: CallView['arguments'] | undefined;
  readonly side: Side;
}

function Argument({ name, given, against, side }: ArgumentProps) {
  const isGiven = Object.hasOwn(given, name);
  const isInBoth = isGiven && against !== undefined && Object.hasOwn(against, name);
  const isSame = against === undefined || (isInBoth && isSameJson(given[name], against[name]));
  return (
    <div class={isSame ? '' : 'changed'}>
      <dt>
        <code>{name}</code>
        {against === undefined || isInBoth || !isGiven ? null : <span class="quiet"> only here</span>}
      </dt>
      <dd>
        {isGiven ? (
          <ComparedValue
            title={name}
            text={toShown(given[name])}
            against={isInBoth ? toShown(against[name]) : undefined}
            side={side}
          />
        ) : (
          <span class="quiet">not given</span>
        )}
      </dd>
    </div>
  );
}

/** Short JSON stays on one line. */
function toShown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= INLINE_LENGTH || typeof value === 'string' ? text : toComparedText(value);
}

const INLINE_LENGTH = 80;

function Result({ call, partner, side, isLive }: PartProps & { readonly isLive: boolean }) {
  const { result } = call;
  if (result === undefined) return <p class="quiet">{isLive ? 'Not there yet' : 'None'}</p>;
  const isSame = partner !== undefined && hasSameResult(call, partner);
  const text = toResultText(result);
  if (isSame && side === 'other' && text.length <= SHORT_RESULT) return <p class="quiet">The same</p>;
  const against = partner?.result === undefined ? undefined : toResultText(partner.result);
  return (
    <>
      {text === '' ? (
        <p class="quiet">Empty</p>
      ) : (
        <ComparedValue title="result" text={text} against={against} side={side} />
      )}
      {isSame && side === 'other' ? null : <Images result={result} />}
    </>
  );
}

/** Most characters of a result that `ComparedValue` does not fold. */
const SHORT_RESULT = 160;

function Images({ result }: { readonly result: NonNullable<CallView['result']> }) {
  const { blobAddress } = useContext(TraceContext);
  return (
    <>
      {result.content.map(({ type, data, mimeType }, index) => {
        if (type !== 'image' || !isShownType(mimeType)) return null;
        const source = toSource(data, mimeType, blobAddress);
        return source === undefined ? null : (
          <MarkedImage key={index} source={source} marks={[]} label={`Image ${index + 1} of the result`} />
        );
      })}
    </>
  );
}
