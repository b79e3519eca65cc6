import { Fragment } from 'preact';
import type { Trace } from '../contract/trace.ts';
import { Json, MessageContent, Text } from './content.tsx';
import { formatCount, formatCountOf, formatDuration, formatLog, formatTime, preview } from './format.ts';
import { type RunsPath, renderPage } from './layout.tsx';
import { EndNote, Problem } from './problem.tsx';
import { Reward, Status } from './status.tsx';
import { StepView } from './step.tsx';
import { TimeBar } from './time-bar.tsx';

/** Everything that the trace holds, in the order in which it happened, after why it ended as it did. */
export function renderTracePage(trace: Trace, runsPath: RunsPath): string {
  const isLive = trace.status === 'queued' || trace.status === 'running';
  return renderPage({
    title: `${trace.env_name} ${trace.scenario_name}`,
    runsPath,
    ...(isLive ? { refresh: { seconds: 2 } } : {}),
    children: (
      <>
        <Header trace={trace} />
        <Problem trace={trace} />
        <EndNote trace={trace} />
        <TimeBar timing={trace.timing} />
        <Facts trace={trace} />
        <Prompt trace={trace} />
        <Steps trace={trace} isLive={isLive} />
        <Outcome trace={trace} />
        <Logs trace={trace} />
      </>
    ),
  });
}

function Header({ trace }: { readonly trace: Trace }) {
  const { usage, evaluation } = trace;
  const facts = [
    trace.model,
    formatCountOf(usage.model_calls, 'step'),
    formatCountOf(usage.tool_calls, 'tool call'),
    formatCountOf(usage.total_tokens, 'token'),
    formatDuration(trace.timing.total_ms),
  ];
  return (
    <section class="summary">
      <Reward reward={trace.reward} />
      <div>
        <h1>{`${trace.env_name} · ${trace.scenario_name}`}</h1>
        <p>
          <Status status={trace.status} stopReason={trace.stop_reason} />
          {` · ${facts.join(' · ')}`}
        </p>
        {evaluation === null || evaluation.content === null ? null : <p>{preview(evaluation.content, 300)}</p>}
        <p>
          <code>{preview(trace.scenario_args, 300)}</code>
        </p>
        <p class="quiet">
          <code>{trace.trace_id}</code> <a href={`/v1/traces/${trace.trace_id}`}>JSON</a>
          {trace.attempt === 1 ? null : ` · attempt ${trace.attempt}: ${previousEnds(trace)}`}
        </p>
      </div>
    </section>
  );
}

function previousEnds(trace: Trace): string {
  const ends = trace.attempts.slice(0, -1).map(({ attempt, end }) => `${attempt} was ${end ?? 'ended'}`);
  return ends.join(', ');
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
      <summary>Arguments, tokens, times, versions, metadata</summary>
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
      {trace.prompt.length === 0 ? <p class="quiet">The scenario was not set up.</p> : null}
      <Messages messages={trace.prompt} />
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

function Messages({ messages }: { readonly messages: Trace['prompt'] }) {
  return messages.map((message, index) => (
    <article key={index} class={`message ${message.role}`}>
      <h3>{message.role}</h3>
      <MessageContent content={message.content} />
    </article>
  ));
}

function Steps({ trace, isLive }: { readonly trace: Trace; readonly isLive: boolean }) {
  const { steps, turns } = trace;
  const nothing = isLive ? 'The model has not answered yet.' : 'The model never answered.';
  return (
    <section>
      <h2>{`Steps (${formatCount(steps.length)})`}</h2>
      {steps.length === 0 ? <p class="quiet">{nothing}</p> : null}
      {turns.map((turn) => (
        <Fragment key={turn.turn}>
          {turn.turn === 1 ? null : <Messages messages={turn.messages} />}
          {steps
            .filter((step) => step.turn === turn.turn)
            .map((step) => (
              <StepView key={step.step} step={step} />
            ))}
        </Fragment>
      ))}
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
      <Text text={trace.logs.map(formatLog).join('\n')} />
    </section>
  );
}
