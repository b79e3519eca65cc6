import type { StopReason, Trace } from '../contract/trace.ts';
import { Text } from './content.tsx';
import { formatLog } from './format.ts';

const LAST_LOGS = 8;

/** Why a run failed, before anything else: where, in whose words, and what the environment had said by then. */
export function Problem({ trace }: { readonly trace: Trace }) {
  const { error, logs } = trace;
  if (error === null) return null;
  const step = trace.steps.at(-1)?.step;
  return (
    <section class="problem" role="alert">
      <h2>
        {`Failed ${PLACES[error.boundary]} `}
        <code class="quiet">{error.code}</code>
      </h2>
      <Text text={error.message} />
      {logs.length === 0 ? null : (
        <>
          <h3>What the environment logged last</h3>
          <Text text={logs.slice(-LAST_LOGS).map(formatLog).join('\n')} />
        </>
      )}
      {step === undefined ? null : (
        <p>
          <a href={`#step-${step}`}>{`To the last step (${step})`}</a>
        </p>
      )}
    </section>
  );
}

const PLACES: Readonly<Record<NonNullable<Trace['error']>['boundary'], string>> = {
  environment: 'in the environment',
  setup: 'in the setup of the scenario',
  model: 'at the model',
  tool: 'in a tool',
  evaluate: 'in the evaluation',
  worker: 'in the worker',
};

/** In a sentence, where a run ended otherwise than by an answer or an error. */
export function EndNote({ trace }: { readonly trace: Trace }) {
  const sentence = trace.stop_reason === null ? undefined : SENTENCES[trace.stop_reason];
  return sentence === undefined ? null : <p class="note">{sentence(trace)}</p>;
}

const SUBMITTED = 'What it had said last was submitted and evaluated.';

const SENTENCES: { readonly [Reason in StopReason]?: (trace: Trace) => string } = {
  max_steps: ({ max_steps }) =>
    `The model had not answered after ${max_steps} steps, which is all it had. ${SUBMITTED}`,
  length: () => `The model reached its limit of tokens. ${SUBMITTED}`,
  timeout: () => `The time for this run was over before the model had answered. ${SUBMITTED}`,
  cancelled: () => 'Someone cancelled this run. It was not evaluated.',
  expired: () => `The session was idle for too long. ${SUBMITTED}`,
  abandoned: () => 'The session was abandoned. It was not evaluated.',
};
