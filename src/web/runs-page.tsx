import type { TraceSummary } from '../contract/trace.ts';
import { formatCount, formatDuration, formatTime, preview } from './format.ts';
import { type RunsPath, renderPage } from './layout.tsx';
import { Reward, Status } from './status.tsx';

export interface RunsPageProps {
  readonly traces: readonly TraceSummary[];
  /** The address of the next page; null on the last. */
  readonly nextPage: string | null;
  readonly runsPath: RunsPath;
}

/** What the header calls the list is what its heading says. */
const WORDS = {
  '/': { title: 'Runs', older: 'Older runs', none: 'No runs yet. Start one:' },
  '/traces': { title: 'Traces', older: 'Older traces', none: 'No traces yet. The playground makes some, and so does:' },
} as const;

export function renderRunsPage({ traces, nextPage, runsPath }: RunsPageProps): string {
  const { title, older, none } = WORDS[runsPath];
  const isLive = traces.some((trace) => trace.status === 'queued' || trace.status === 'running');
  return renderPage({
    title,
    runsPath,
    ...(isLive ? { refresh: { seconds: 3 } } : {}),
    children: (
      <>
        <h1>{title}</h1>
        {traces.length === 0 ? <NoRuns text={none} /> : <RunsTable traces={traces} />}
        {nextPage === null ? null : (
          <p>
            <a href={nextPage}>{older}</a>
          </p>
        )}
      </>
    ),
  });
}

function NoRuns({ text }: { readonly text: string }) {
  return (
    <section class="card">
      <p>{text}</p>
      <pre>npx proctor run counter count_to --arg target=3 --model proctor/oracle</pre>
    </section>
  );
}

function RunsTable({ traces }: { readonly traces: readonly TraceSummary[] }) {
  return (
    <div class="scroll">
      <table class="runs">
        <thead>
          <tr>
            <th>Started (UTC)</th>
            <th>Reward</th>
            <th>Status</th>
            <th>Scenario</th>
            <th>Model</th>
            <th class="number wide">Steps</th>
            <th class="number wide">Tokens</th>
            <th class="number wide">Duration</th>
          </tr>
        </thead>
        <tbody>
          {traces.map((trace) => (
            <Run key={trace.trace_id} trace={trace} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Run({ trace }: { readonly trace: TraceSummary }) {
  return (
    <tr>
      <td>
        <a href={`/traces/${trace.trace_id}`}>{formatTime(trace.created_at)}</a>
      </td>
      <td>
        <Reward reward={trace.reward} />
      </td>
      <td>
        <Status status={trace.status} stopReason={trace.stop_reason} />
      </td>
      <td class="what">
        {`${trace.env_name} · ${trace.scenario_name} `}
        <span class="quiet">{preview(trace.scenario_args, 80)}</span>
        {trace.error === null ? null : (
          <div class="why">{`${trace.error.boundary}: ${preview(trace.error.message, 160)}`}</div>
        )}
      </td>
      <td>{trace.model}</td>
      <td class="number wide">{formatCount(trace.usage.model_calls)}</td>
      <td class="number wide">{formatCount(trace.usage.total_tokens)}</td>
      <td class="number wide">{trace.finished_at === null ? '–' : formatDuration(trace.timing.total_ms)}</td>
    </tr>
  );
}
