import type { SessionEntry } from '../../../contract/session.ts';
import type { SessionState } from './session-feed.ts';

/** Scenario, model and state of a session, with links to its trace and the button that ends it. */
export function SessionFacts({
  entry,
  state,
  isBusy,
  onAbandon,
  onNew,
}: {
  readonly entry: SessionEntry;
  readonly state: SessionState | undefined;
  readonly isBusy: boolean;
  onAbandon(): void;
  onNew(): void;
}) {
  const { scenario, scenario_args, model, session_id, trace_url } = entry;
  const status = state?.end?.status ?? entry.status;
  const facts = {
    Environment: state?.environment ?? '',
    Arguments: JSON.stringify(scenario_args),
    Model: model,
    Session: session_id,
    Status: status,
    Steps: String(state?.steps ?? entry.steps),
  };
  return (
    <>
      <h1>{scenario}</h1>
      <dl id="facts" class="playground-facts">
        {Object.entries(facts).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd id={`fact-${name.toLowerCase()}`}>{value}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a id="trace" href={trace_url} target="_blank" rel="noopener">
          Open the trace
        </a>
      </p>
      <p class="form-actions">
        {status === 'active' ? (
          <button type="button" class="button danger" disabled={isBusy} onClick={onAbandon}>
            Abandon
          </button>
        ) : (
          <button type="button" class="button main" onClick={onNew}>
            New session
          </button>
        )}
      </p>
    </>
  );
}
