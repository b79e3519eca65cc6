import type { Trace } from '../contract/trace.ts';
import { Json, MessageContent, Text } from './content.tsx';
import { formatCount, formatDuration, formatTime, preview } from './format.ts';
import { renderPage } from './layout.tsx';
import { Reward, Status } from './status.tsx';
import { StepView } from './step.tsx';
import { TimeBar } from './time-bar.tsx';

/** Everything that the trace holds, in the order in which it happened. */
export function renderTracePage(trace: Trace): string {
  const isLive = trace.status === 'queued' || trace.status === 'running';
  return renderPage({
    title: `${trace.env_name} ${trace.scenario_name}`,
    ...(isLive ? { refreshSeconds: 2 } : {}),
    children: (
      <>
        <Header trace={trace} />
        {trace.error === null ? null : <ErrorView error={trace.error} />}
        <TimeBar timing={trace.timing} />
        <Facts trace={trace} />
        <Prompt trace={trace} />
        <section>
          <h2>{`Steps (${trace.steps.length})`}</h2>
          {trace.steps.length === 0 ? <p class="quiet">The model has not answered yet.</p> : null}
          {trace.steps.map((step) => (
            <StepView key={step.step} step={step} />
          ))}
        </section>
        <Outcome trace={trace} />
        <Logs trace={trace} />
      </>
    ),
  });
}

function Header({ trace }: { readonly trace: Trace }) {
  return (
    <section class="summary">
      <Reward reward={trace.reward} />
      <div>
        <h1>{`${trace.env_name} · ${trace.scenario_name}`}</h1>
        <p>
          <Status status={trace.status} stopReason={trace.stop_reason} />
          {` ${trace.model} · ${trace.usage.model_calls} steps · ${trace.usage.tool_calls} tool calls · `}
          {`${formatCount(trace.usage.total_tokens)} tokens · ${formatDuration(trace.timing.total_ms)}`}
        </p>
        <p>
          <code>{preview(trace.scenario_args, 300)}</code>
        </p>
        <p class="quiet">
          <code>{trace.trace_id}</code> <a href={`/v1/traces/${trace.trace_id}`}>JSON</a>
        </p>
      </div>
    </section>
  );
}

function ErrorView({ error }: { readonly error: NonNullable<Trace['error']> }) {
  return (
    <section class="problem" role="alert">
      <h2>{`Failed at ${error.boundary}: ${error.code}`}</h2>
      <Text text={error.message} />
    </section>
  );
}

function Facts({ trace }: { readonly trace: Trace }) {
  const { usage, versions } = trace;
  const facts: readonly (readonly [string, string])[] = [
    ['Created (UTC)', formatTime(trace.created_at)],
    ['Started', formatTime(trace.started_at)],
    ['Finished', formatTime(trace.finished_at)],
    ['Steps allowed', String(trace.max_steps)],
    ['Prompt tokens', `${formatCount(usage.prompt_tokens)} (${formatCount(usage.cached_tokens)} cached)`],
    ['Completion tokens', `${formatCount(usage.completion_tokens)} (${formatCount(usage.reasoning_tokens)} reasoning)`],
    ['Cost', usage.cost_usd === null ? 'not told' : `$${usage.cost_usd}`],
    ['Seed', trace.seed === null ? '–' : String(trace.seed)],
    ['Environment', `${trace.env_name} ${versions.environment ?? ''}`],
    ['Versions', `Proctor ${versions.proctor}, MCP ${versions.protocol ?? '–'}, Node ${versions.node}`],
    ['Environment code', versions.environment_hash ?? '–'],
    ['Attempt', String(trace.attempt)],
  ];
  return (
    <details>
      <summary>Arguments, tokens, times, versions</summary>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h3>Scenario arguments</h3>
      <Json value={trace.scenario_args} />
      {Object.keys(trace.sampling).length === 0 ? null : (
        <>
          <h3>Sampling</h3>
          <Json value={trace.sampling} />
        </>
      )}
      {Object.keys(trace.metadata).length === 0 ? null : (
        <>
          <h3>Metadata</h3>
          <Json value={trace.metadata} />
        </>
      )}
      {trace.attempts.length < 2 ? null : (
        <>
          <h3>Attempts</h3>
          <Json value={trace.attempts} />
        </>
      )}
    </details>
  );
}

function Prompt({ trace }: { readonly trace: Trace }) {
  return (
    <section>
      <h2>Prompt</h2>
      {trace.system === null ? null : (
        <details>
          <summary>{`System (${formatCount(trace.system.length)} characters)`}</summary>
          <Text text={trace.system} />
        </details>
      )}
      {trace.prompt.length === 0 ? <p class="quiet">The scenario has not been set up.</p> : null}
      {trace.prompt.map((message, index) => (
        <article key={index} class={`message ${message.role}`}>
          <h3>{message.role}</h3>
          <MessageContent content={message.content} />
        </article>
      ))}
      {trace.tools.length === 0 ? null : (
        <details>
          <summary>{`Tools offered (${trace.tools.length})`}</summary>
          {trace.tools.map((tool) => (
            <article key={tool.name} class="tool">
              <h3>
                <code>{tool.name}</code>
              </h3>
              <p>{tool.description}</p>
              <Json value={tool.input_schema} />
            </article>
          ))}
        </details>
      )}
    </section>
  );
}

function Outcome({ trace }: { readonly trace: Trace }) {
  const { answer, evaluation } = trace;
  return (
    <section>
      <h2>Answer</h2>
      {answer === null ? <p class="quiet">No answer was submitted.</p> : null}
      {typeof answer === 'string' ? <Text text={answer === '' ? '(empty)' : answer} /> : null}
      {answer !== null && typeof answer !== 'string' ? <Json value={answer} /> : null}
      <h2>Evaluation</h2>
      {evaluation === null ? (
        <p class="quiet">Not evaluated.</p>
      ) : (
        <>
          <p>
            <Reward reward={evaluation.reward} /> {evaluation.content ?? ''}
          </p>
          {evaluation.subscores.length === 0 ? null : (
            <table>
              <thead>
                <tr>
                  <th>Subscore</th>
                  <th class="number">Value</th>
                  <th class="number">Weight</th>
                </tr>
              </thead>
              <tbody>
                {evaluation.subscores.map((subscore) => (
                  <tr key={subscore.name}>
                    <td>{subscore.name}</td>
                    <td class="number">{subscore.value}</td>
                    <td class="number">{subscore.weight ?? 1}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          {Object.keys(evaluation.info).length === 0 ? null : <Json value={evaluation.info} />}
        </>
      )}
    </section>
  );
}

function Logs({ trace }: { readonly trace: Trace }) {
  if (trace.logs.length === 0) return null;
  return (
    <section>
      <h2>{`Logs (${trace.logs.length})`}</h2>
      <pre class="text">
        {trace.logs.map((log) => `${log.at.slice(11, 23)} ${log.level} ${log.logger}: ${log.message}\n`).join('')}
      </pre>
    </section>
  );
}
