import type { TraceSummary } from '../../../contract/service/trace.ts';
import { grouped } from '../../../support/text/figures.ts';
import { LongText } from '../components/long-text.tsx';
import { goTo } from './go-to.ts';
import { LogLines } from './steps/log-lines.tsx';
import { Subscores } from './steps/outcome-cards.tsx';
import type { AttemptView } from './timeline.ts';
import { type Finding, toVerdict } from './verdict.ts';

/** Logs that are repeated beside an error, and subscores beside a reward. */
const LAST_LOGS = 8;
const MOST_SUBSCORES = 12;

/** How it ended and why, before anything else. */
export function VerdictPanel({
  trace,
  attempts,
}: {
  readonly trace: TraceSummary;
  readonly attempts: readonly AttemptView[];
}) {
  const { tone, title, detail, code, findings } = toVerdict(trace, attempts);
  const subscores = trace.evaluation?.subscores ?? [];
  const logs = trace.error === null ? [] : lastLogs(attempts);
  return (
    <section class={`verdict ${tone}`} aria-label="How it ended">
      <h2>
        {tone === 'live' ? <span class="spinner" /> : null}
        {title}
        {code === null ? null : <code class="verdict-code">{code}</code>}
      </h2>
      {detail === null || detail === '' ? null : <LongText text={detail} />}
      {trace.error !== null && trace.evaluation !== null ? (
        <p class="quiet">{`It was evaluated all the same: ${trace.evaluation.reward}, which is not its reward.`}</p>
      ) : null}
      <Subscores subscores={lowest(subscores)} />
      {subscores.length > MOST_SUBSCORES ? (
        <p class="quiet">{`The lowest ${MOST_SUBSCORES} of ${grouped(subscores.length)} subscores; the evaluation has all of them.`}</p>
      ) : null}
      {findings.length === 0 ? null : (
        <ul class="findings">
          {findings.map((finding, index) => (
            <FindingLine key={index} finding={finding} />
          ))}
        </ul>
      )}
      {logs.length === 0 ? null : (
        <>
          <h3>What was logged last</h3>
          <LogLines logs={logs} isAlways />
        </>
      )}
    </section>
  );
}

function FindingLine({ finding: { text, places, isBad } }: { readonly finding: Finding }) {
  return (
    <li class={isBad ? 'bad' : ''}>
      <span class="dot" />
      <span>
        {`${text} `}
        {places.map(({ entryId, label }) => (
          <a
            key={entryId}
            class="place"
            href={`#${entryId}`}
            onClick={(event) => {
              if (goTo(entryId)) event.preventDefault();
            }}
          >
            {label}
          </a>
        ))}
      </span>
    </li>
  );
}

/** All of them in their order where there are few: what has cost the reward is shown in any case. */
function lowest<Scored extends { readonly value: number }>(subscores: readonly Scored[]): readonly Scored[] {
  if (subscores.length <= MOST_SUBSCORES) return subscores;
  return subscores.toSorted((a, b) => a.value - b.value).slice(0, MOST_SUBSCORES);
}

function lastLogs(attempts: readonly AttemptView[]) {
  const logs = (attempts.at(-1)?.entries ?? []).flatMap((entry) => {
    if (entry.kind === 'logs') return entry.logs;
    return entry.kind === 'step' ? [...entry.calls.flatMap((call) => call.logs), ...entry.logs] : [];
  });
  return logs.slice(-LAST_LOGS);
}
