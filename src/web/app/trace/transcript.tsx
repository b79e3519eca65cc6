import { useContext, useMemo, useState } from 'preact/hooks';
import { countText, durationText } from '../../../support/text/figures.ts';
import { JudgementCard } from './steps/judgement-card.tsx';
import { LazySection } from './steps/lazy-section.tsx';
import { LogLines } from './steps/log-lines.tsx';
import { AnswerCard, EvaluationCard } from './steps/outcome-cards.tsx';
import { Messages, SetupCard } from './steps/setup-card.tsx';
import { StepCard } from './steps/step-card.tsx';
import { UserCard } from './steps/user-card.tsx';
import type { AttemptView, Entry } from './timeline.ts';
import type { TraceState } from './trace-feed.ts';
import { TraceContext } from './view-context.ts';

/** Traces with fewer entries are drawn whole. */
const DRAWN_WHOLE = 40;

export interface TranscriptProps {
  readonly attempts: readonly AttemptView[];
  readonly isLive: boolean;
  readonly pending: TraceState['pending'];
}

/** Everything that happened, one below the other. What earlier attempts did is folded. */
export function Transcript({ attempts, isLive, pending }: TranscriptProps) {
  const last = attempts.at(-1);
  return (
    <div class="transcript">
      {attempts.slice(0, -1).map((attempt) => (
        <EarlierAttempt key={attempt.attempt} attempt={attempt} />
      ))}
      {last === undefined ? null : <Entries attempt={last} isLive={isLive} pending={pending} />}
    </div>
  );
}

function EarlierAttempt({ attempt }: { readonly attempt: AttemptView }) {
  const [isOpen, setOpen] = useState(location.hash.startsWith(`#attempt-${attempt.attempt}-`));
  const { end, entries, startedAt, endedAt, worker, lossError } = attempt;
  const steps = entries.filter(({ kind }) => kind === 'step').length;
  const facts = [
    countText(steps, 'step'),
    ...(startedAt === undefined || endedAt === undefined
      ? []
      : [durationText(Date.parse(endedAt) - Date.parse(startedAt))]),
    ...(worker === undefined ? [] : [worker]),
  ];
  return (
    <details
      class="attempt"
      id={`attempt-${attempt.attempt}`}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        {`Attempt ${attempt.attempt} was ${end ?? 'ended'}`} <span class="quiet">{facts.join(' · ')}</span>
      </summary>
      {lossError === null ? null : <p class="quiet">{lossError.message}</p>}
      {isOpen ? <Entries attempt={attempt} isLive={false} pending={undefined} /> : null}
    </details>
  );
}

interface EntriesProps {
  readonly attempt: AttemptView;
  readonly isLive: boolean;
  readonly pending: TraceState['pending'];
}

function Entries({ attempt: { entries }, isLive, pending }: EntriesProps) {
  const lastId = entries.at(-1)?.id;
  return (
    <>
      {entries.map((entry) => (
        <EntrySection
          key={entry.id}
          entry={entry}
          isAlways={entries.length <= DRAWN_WHOLE}
          isLive={isLive && entry.id === lastId}
          pending={entry.id === lastId ? pending : undefined}
        />
      ))}
    </>
  );
}

interface EntrySectionProps {
  readonly entry: Entry;
  readonly isAlways: boolean;
  readonly isLive: boolean;
  readonly pending: TraceState['pending'];
}

/** Made anew only when its entry is another one. */
function EntrySection({ entry, isAlways, isLive, pending }: EntrySectionProps) {
  return useMemo(
    () => (
      <LazySection id={entry.id} estimatePx={estimateHeight(entry)} isAlways={isAlways}>
        {() => <EntryView entry={entry} isLive={isLive} pending={pending} />}
      </LazySection>
    ),
    [entry, isAlways, isLive, pending],
  );
}

function EntryView({ entry, isLive, pending }: Omit<EntrySectionProps, 'isAlways'>) {
  switch (entry.kind) {
    case 'environment':
      return <EnvironmentLine event={entry.event} />;
    case 'setup':
      return <SetupCard {...entry} />;
    case 'turn':
      return (
        <article class="card-block turn" aria-label={`Turn ${entry.event.turn}`}>
          <header class="entry-head">
            <h3>
              <a href={`#${entry.id}`}>{`Turn ${entry.event.turn}`}</a>
            </h3>
          </header>
          <Messages messages={entry.event.messages} />
        </article>
      );
    case 'user':
      return <UserCard {...entry} />;
    case 'judgement':
      return <JudgementCard {...entry} />;
    case 'step':
      return <StepCard step={entry} isLive={isLive} pending={pending} />;
    case 'logs':
      return <LogLines logs={entry.logs} />;
    case 'answer':
      return <AnswerCard {...entry} />;
    case 'evaluation':
      return <EvaluationCard {...entry} />;
  }
}

function EnvironmentLine({ event }: Pick<Extract<Entry, { kind: 'environment' }>, 'event'>) {
  const { hidden } = useContext(TraceContext);
  if (hidden.has('prompt')) return null;
  const version = event.versions.environment === null ? '' : ` ${event.versions.environment}`;
  return (
    <p class="quiet line">{`Environment ${event.name}${version} was ready after ${durationText(event.duration_ms)}`}</p>
  );
}

/** Roughly what an entry takes, in pixels: near enough that the scroll bar does not jump. */
function estimateHeight(entry: Entry): number {
  if (entry.kind === 'environment') return 30;
  if (entry.kind === 'logs') return 12 + 20 * Math.min(12, entry.logs.length);
  if (entry.kind !== 'step') return 240;
  const { response, calls } = entry;
  const text = (response?.message.content?.length ?? 0) + (response?.message.reasoning?.length ?? 0);
  const callHeights = calls.map(({ result }) => {
    const block = result?.content.find(({ type }) => type === 'text')?.text;
    const lines = typeof block === 'string' ? Math.max(block.length / 70, block.split('\n', 40).length) : 3;
    return 90 + 19 * Math.min(40, lines);
  });
  return 70 + 23 * Math.min(40, text / 100) + callHeights.reduce((sum, height) => sum + height, 0);
}
