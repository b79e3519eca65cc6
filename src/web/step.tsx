import type { ToolCall } from '../contract/chat.ts';
import type { Step, ToolResultRecord } from '../contract/trace.ts';
import { Block, Json, Text } from './content.tsx';
import { formatCount, formatCountOf, formatDuration } from './format.ts';

/** One response of the model with all its tool calls; `#step-N` links to it. */
export function StepView({ step }: { readonly step: Step }) {
  const { message } = step;
  const retries = step.retries === 0 ? '' : ` · ${formatCountOf(step.retries, 'retry', 'retries')}`;
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
          <section key={call.id} class="call failed">
            <h4>
              <code>{call.name}</code> <span class="quiet">no result</span>
            </h4>
            <h5>Arguments</h5>
            <Arguments call={call} />
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
          <Arguments call={result} />
        </div>
        <div>
          <h5>Result</h5>
          {result.content.map((block, index) => (
            <Block key={index} block={block} />
          ))}
          {result.content.length === 0 ? <p class="quiet">No content</p> : null}
          {isShown(result) ? null : (
            <>
              <h5>Structured content</h5>
              <Json value={result.structured_content} />
            </>
          )}
        </div>
      </div>
    </section>
  );
}

function Arguments({ call }: { readonly call: Pick<ToolCall, 'arguments' | 'raw_arguments'> }) {
  if (call.raw_arguments === null) return <Json value={call.arguments} />;
  return (
    <>
      <p class="quiet">Not a JSON object; as the model wrote them:</p>
      <Text text={call.raw_arguments} />
    </>
  );
}

/** A result is usually sent as text too: then it is not shown twice. */
function isShown({ content, structured_content }: ToolResultRecord): boolean {
  if (structured_content === null) return true;
  const structured = JSON.stringify(structured_content);
  return content.some((block) => {
    if (block.type !== 'text' || typeof block.text !== 'string') return false;
    try {
      return JSON.stringify(JSON.parse(block.text)) === structured;
    } catch {
      return false;
    }
  });
}
