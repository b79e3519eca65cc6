import { useContext } from 'preact/hooks';
import { OUTSIDE_STEPS } from '../../../../contract/names.ts';
import { countText, durationText, grouped } from '../../../../support/text/figures.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { LongText } from '../../components/long-text.tsx';
import type { StepEntry } from '../timeline.ts';
import type { TraceState } from '../trace-feed.ts';
import { TraceContext } from '../view-context.ts';
import { LogLines } from './log-lines.tsx';
import { AgentInput, BranchLabel, CallFailure, Differences } from './seat-step.tsx';
import { ToolCalls } from './tool-call.tsx';

/** One response of the model with all its tool calls. */
export function StepCard({
  step,
  isLive,
  pending,
}: {
  readonly step: StepEntry;
  readonly isLive: boolean;
  readonly pending?: TraceState['pending'];
}) {
  const { response, request, failure } = step;
  const isOutside = step.step === OUTSIDE_STEPS;
  const name = isOutside ? 'Calls of the agent' : `Step ${step.step}`;
  return (
    <article class="card-block step" aria-label={name}>
      <header class="entry-head">
        <h3>
          <a href={`#${step.id}`}>{name}</a>
        </h3>
        <BranchLabel request={request} />
        <span class="quiet entry-facts">{response === undefined ? null : factsOf(response)}</span>
        <span class="entry-tools">
          <ContinueButton step={step} isLive={isLive} />
          {response === undefined ? null : (
            <CopyButton text={() => response.message.content ?? ''} label="Copy the text of the step" />
          )}
        </span>
      </header>
      {request?.input === undefined ? null : <AgentInput input={request.input} />}
      {isOutside ? null : failure !== undefined ? (
        <CallFailure failure={failure} />
      ) : response === undefined ? (
        <PendingResponse isLive={isLive} pending={pending} />
      ) : (
        <Message message={response.message} />
      )}
      <ToolCalls calls={step.calls} isLive={isLive} />
      <Differences entries={step.differences} />
      <LogLines logs={step.logs} />
    </article>
  );
}

/** An answer has nothing that a model could go on with. */
function ContinueButton({ step: { id, step, calls }, isLive }: { readonly step: StepEntry; readonly isLive: boolean }) {
  const { continueFrom } = useContext(TraceContext);
  const isLastAttempt = id === `step-${step}`;
  const isPossible = !isLive && isLastAttempt && calls.length > 0 && calls.every(({ result }) => result !== undefined);
  if (continueFrom === undefined || !isPossible) return null;
  return (
    <button type="button" class="link" onClick={() => continueFrom(step)}>
      Continue from here
    </button>
  );
}

type Response = NonNullable<StepEntry['response']>;

function factsOf({ duration_ms, usage, finish_reason, retries, repeated }: Response): string {
  if (repeated === true) return 'repeated';
  const facts = [durationText(duration_ms), `${grouped(usage.total_tokens)} tokens`];
  // The normal case is not labelled.
  if (finish_reason !== 'tool_calls' && finish_reason !== 'stop') facts.push(finish_reason.replace('_', ' '));
  if (retries > 0) facts.push(countText(retries, 'retry', 'retries'));
  return facts.join(' · ');
}

function Message({ message }: { readonly message: Response['message'] }) {
  const { hidden } = useContext(TraceContext);
  const { reasoning, content, refusal } = message;
  return (
    <>
      {hidden.has('reasoning') || !reasoning ? null : <Reasoning text={reasoning} />}
      {hidden.has('text') || !content ? null : <LongText text={content} />}
      {refusal ? (
        <div class="refusal">
          <h4>Refused</h4>
          <LongText text={refusal} />
        </div>
      ) : null}
    </>
  );
}

function Reasoning({ text }: { readonly text: string }) {
  return (
    <div class="reasoning">
      <h4>Reasoning</h4>
      <LongText text={text} />
    </div>
  );
}

/** Token by token, where the model streams and runs in the process of the server. */
function PendingResponse({ isLive, pending }: { readonly isLive: boolean; readonly pending: TraceState['pending'] }) {
  if (!isLive) return <p class="bad-text">The model never answered.</p>;
  return (
    <div class="pending">
      {pending === undefined || pending.reasoning === '' ? null : <Reasoning text={pending.reasoning} />}
      {pending === undefined || pending.content === '' ? null : <pre class="text prose">{pending.content}</pre>}
      <p class="quiet">
        <span class="spinner" />
        {pending === undefined ? 'The model is thinking' : 'The model is answering'}
      </p>
    </div>
  );
}
