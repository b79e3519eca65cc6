import type { ComponentChildren } from 'preact';
import { durationText } from '../../../support/text/figures.ts';
import type { LogLine } from './mcp-session.ts';
import type { Outcome } from './use-action.ts';

/** How a request stands, what was logged during it, and its result. */
export function OutcomeView<Value>({
  outcome,
  done = 'Answered',
  describe = () => undefined,
  children,
}: {
  readonly outcome: Outcome<Value>;
  /** Names the thing that was done, in a word. */
  readonly done?: string;
  /** Says what is wrong with a result; undefined where nothing is. */
  describe?(value: Value): string | undefined;
  readonly children: (value: Value) => ComponentChildren;
}) {
  return (
    <div class={`outcome-view ${outcome.state}`}>
      <p class="outcome-state" role="status">
        <OutcomeState outcome={outcome} done={done} describe={describe} />
      </p>
      {outcome.state === 'idle' ? null : <LogLines log={outcome.log} />}
      {outcome.state === 'done' ? children(outcome.value) : null}
    </div>
  );
}

function OutcomeState<Value>({
  outcome,
  done,
  describe,
}: {
  readonly outcome: Outcome<Value>;
  readonly done: string;
  describe(value: Value): string | undefined;
}) {
  if (outcome.state === 'idle') return null;
  if (outcome.state === 'failed') return <span class="bad-text">{outcome.message}</span>;
  if (outcome.state === 'running') {
    return (
      <>
        <span class="spinner" />
        {outcome.progress === '' ? 'Running…' : `Running: ${outcome.progress}`}
      </>
    );
  }
  const took = durationText(outcome.tookMs);
  const problem = describe(outcome.value);
  if (problem !== undefined) return <span class="bad-text">{`${problem}, after ${took}`}</span>;
  return <span class="good-text">{`${done} after ${took}`}</span>;
}

function LogLines({ log }: { readonly log: readonly LogLine[] }) {
  if (log.length === 0) return null;
  return (
    <ul class="log" aria-label="Log">
      {log.map(({ level, text }, index) => (
        <li key={index}>
          <code>{`${level}: ${text}`}</code>
        </li>
      ))}
    </ul>
  );
}
