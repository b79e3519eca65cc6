import type { TraceSummary } from '../../../contract/service/trace.ts';
import { formatTime } from '../../format.ts';
import { CopyButton } from '../components/copy-button.tsx';
import { JsonTree } from '../components/json-tree.tsx';

/** Details that the header has no room for. */
export function DetailsPanel({ trace }: { readonly trace: TraceSummary }) {
  const { versions } = trace;
  const facts: readonly (readonly [string, string])[] = [
    ['Trace', trace.trace_id],
    ['Created', `${formatTime(trace.created_at)} UTC`],
    ['Started', formatTime(trace.started_at)],
    ['Finished', formatTime(trace.finished_at)],
    ['Environment', `${trace.env_name} ${versions.environment ?? ''}`],
    ['Environment code', versions.environment_hash ?? '–'],
    ['Proctor', versions.proctor || '–'],
    ['MCP', versions.protocol ?? '–'],
    ['Node.js', versions.node || '–'],
    ['Seed', trace.seed === null ? '–' : String(trace.seed)],
    ['Attempt', String(trace.attempt)],
  ];
  const values: readonly (readonly [string, object])[] = [
    ['Scenario arguments', trace.scenario_args],
    ['Sampling', trace.sampling],
    ['Metadata', trace.metadata],
    ...(trace.attempts.length > 1 ? [['Attempts', trace.attempts] as const] : []),
  ];
  return (
    <details class="more details-panel">
      <summary>Arguments, metadata, times, versions</summary>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value}
              {name === 'Trace' ? <CopyButton text={() => value} label="Copy the id" /> : null}
            </dd>
          </div>
        ))}
      </dl>
      <div class="fact-values">
        {values
          .filter(([, value]) => Object.keys(value).length > 0)
          .map(([name, value]) => (
            <section key={name}>
              <h4>{name}</h4>
              <JsonTree value={value} />
            </section>
          ))}
      </div>
    </details>
  );
}
