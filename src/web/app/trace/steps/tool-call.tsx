import { useContext, useMemo } from 'preact/hooks';
import { durationText } from '../../../../support/text/figures.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { JsonTree } from '../../components/json-tree.tsx';
import { LongText } from '../../components/long-text.tsx';
import { Marked } from '../../components/marked.tsx';
import { Seconds } from '../../components/seconds.tsx';
import type { CallView } from '../timeline.ts';
import { TraceContext } from '../view-context.ts';
import { toArgumentParts } from './argument-parts.ts';
import { Code, DiffView } from './code.tsx';
import { Block, parseShownJson } from './content-block.tsx';
import { LogLines } from './log-lines.tsx';

/** A tool call: what was asked on one side, what came back on the other, and what was logged meanwhile. */
function ToolCall({ call, isLive }: { readonly call: CallView; readonly isLive: boolean }) {
  const { result } = call;
  const isFailed = result?.is_error === true;
  const isOpen = result === undefined;
  return (
    <section class={`call ${isFailed || (isOpen && !isLive) ? 'failed' : ''}`} aria-label={`Tool call ${call.name}`}>
      <header class="call-head">
        <code class="call-name">
          <Marked text={call.name} />
        </code>
        {result === undefined ? null : <span class="quiet">{durationText(result.duration_ms)}</span>}
        {isFailed ? <span class="tag bad">error</span> : null}
        {isOpen ? <OpenCall call={call} isLive={isLive} /> : null}
        <span class="call-copy">
          <CopyButton text={() => JSON.stringify(toCopy(call), null, 2)} label="Copy the call with its result" />
        </span>
      </header>
      <div class="sides">
        <div class="side">
          <h4>Arguments</h4>
          <Arguments call={call} />
        </div>
        <div class="side">
          <h4>Result</h4>
          <Result call={call} isLive={isLive} />
        </div>
      </div>
      <LogLines logs={call.logs} />
    </section>
  );
}

function OpenCall({ call, isLive }: { readonly call: CallView; readonly isLive: boolean }) {
  if (!isLive) return <span class="tag bad">{call.calledAt === undefined ? 'never called' : 'no result'}</span>;
  return call.calledAt === undefined ? null : (
    <span class="quiet">
      <span class="spinner" />
      running <Seconds />
    </span>
  );
}

function Arguments({ call }: { readonly call: CallView }) {
  const { edit, code, rest } = useMemo(() => toArgumentParts(call.arguments), [call.arguments]);
  if (call.rawArguments !== null) {
    return (
      <>
        <p class="bad-text small">Not a JSON object. As the model wrote them:</p>
        <LongText text={call.rawArguments} kind="mono" />
      </>
    );
  }
  return (
    <>
      {rest === undefined ? null : Object.keys(rest).length === 0 ? (
        <p class="quiet">None</p>
      ) : (
        <JsonTree value={rest} />
      )}
      {edit === undefined ? null : <DiffView {...edit} />}
      {code.map(({ name, text }) => (
        <Code key={name} name={name} text={text} />
      ))}
    </>
  );
}

function Result({ call: { result }, isLive }: { readonly call: CallView; readonly isLive: boolean }) {
  const isRepeated = useMemo(() => result === undefined || isSaidAsText(result), [result]);
  if (result === undefined) return <p class="quiet">{isLive ? '…' : 'None'}</p>;
  const { content, structured_content } = result;
  return (
    <>
      {content.map((block, index) => (
        <Block key={index} block={block} />
      ))}
      {content.length === 0 && isRepeated ? <p class="quiet">No content</p> : null}
      {isRepeated ? null : (
        <>
          {content.length === 0 ? null : <h4>Structured content</h4>}
          <JsonTree value={structured_content} />
        </>
      )}
    </>
  );
}

/** A result is usually sent as text too: then it is not shown twice. */
export function isSaidAsText({ content, structured_content }: NonNullable<CallView['result']>): boolean {
  if (structured_content === null) return true;
  const structured = JSON.stringify(structured_content);
  return content.some(({ type, text }) => {
    if (type !== 'text' || typeof text !== 'string') return false;
    const value = parseShownJson(text);
    if (value === undefined) return false;
    // A list is sent as `{ result: [...] }`, and as the text of the list.
    return JSON.stringify(Array.isArray(value) ? { result: value } : value) === structured;
  });
}

function toCopy({ name, arguments: given, rawArguments, result }: CallView) {
  return {
    name,
    arguments: rawArguments ?? given,
    content: result?.content ?? null,
    structured_content: result?.structured_content ?? null,
    is_error: result?.is_error ?? null,
  };
}

/** Calls of a step, unless they are left out. */
export function ToolCalls({ calls, isLive }: { readonly calls: readonly CallView[]; readonly isLive: boolean }) {
  const { hidden } = useContext(TraceContext);
  if (!hidden.has('tools')) {
    return (
      <>
        {calls.map((call, index) => (
          <ToolCall key={`${call.id} ${index}`} call={call} isLive={isLive} />
        ))}
      </>
    );
  }
  if (calls.length === 0) return null;
  return <p class="quiet">{`Called ${calls.map(({ name }) => name).join(', ')}`}</p>;
}
