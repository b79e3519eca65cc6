import type { Step, ToolResultRecord } from '../contract/trace.ts';
import { Block, Json, Text } from './content.tsx';
import { formatCount, formatDuration } from './format.ts';

/** One response of the model with all its tool calls; `#step-N` links to it. */
export function StepView({ step }: { readonly step: Step }) {
  const { message } = step;
  const retries = step.retries === 0 ? '' : ` · ${step.retries} retries`;
  return (
    <article class="step" id={`step-${step.step}`}>
      <h3>
        <a href={`#step-${step.step}`}>{`Step ${step.step}`}</a>{' '}
        <span class="quiet">
          {`${formatDuration(step.model_ms)} · ${formatCount(step.usage.total_tokens)} tokens · ${step.finish_reason}${retries}`}
        </span>
      </h3>
      {message.reasoning === null || message.reasoning === '' ? null : (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Text text={message.reasoning} />
        </details>
      )}
      {message.content === null || message.content === '' ? null : <Text text={message.content} />}
      {message.refusal === undefined || message.refusal === null ? null : <Text text={`Refused: ${message.refusal}`} />}
      {step.tool_results.map((result) => (
        <ToolCallView key={result.tool_call_id} result={result} />
      ))}
      {message.tool_calls
        .filter((call) => !step.tool_results.some((result) => result.tool_call_id === call.id))
        .map((call) => (
          <section key={call.id} class="call">
            <h4>
              <code>{call.name}</code> <span class="quiet">no result</span>
            </h4>
            <Json value={call.arguments} />
          </section>
        ))}
    </article>
  );
}

function ToolCallView({ result }: { readonly result: ToolResultRecord }) {
  return (
    <section class={result.is_error ? 'call failed' : 'call'}>
      <h4>
        <code>{result.name}</code> <span class="quiet">{formatDuration(result.duration_ms)}</span>
        {result.is_error ? <span class="status failed">error</span> : null}
      </h4>
      <div class="sides">
        <div>
          <h5>Arguments</h5>
          {result.raw_arguments === null ? <Json value={result.arguments} /> : <Text text={result.raw_arguments} />}
        </div>
        <div>
          <h5>Result</h5>
          {result.content.map((block, index) => (
            <Block key={index} block={block} />
          ))}
          {result.content.length === 0 ? <p class="quiet">Nothing</p> : null}
        </div>
      </div>
    </section>
  );
}
