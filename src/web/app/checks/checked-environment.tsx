import { useEffect, useState } from 'preact/hooks';
import type { CheckFinding, FindingCounts, StoredCheck } from '../../../contract/service/check.ts';
import { countText, grouped } from '../../../support/text/figures.ts';
import { service } from '../api.ts';
import { LongText } from '../components/long-text.tsx';
import { Failure } from '../components/states.tsx';
import { Counts, LEVELS } from './finding-counts.tsx';
import { FindingStates } from './finding-states.tsx';
import { FindingView } from './finding-view.tsx';

/** Findings that one click loads. */
const MORE_FINDINGS = 200;

/** An environment of a report: its scenarios, its findings by level, and whether its sessions can share a process. */
export function CheckedEnvironmentView({ check, index }: { readonly check: StoredCheck; readonly index: number }) {
  const environment = check.environments[index];
  const { findings, more, isReading, error } = useFindings(check, index);
  if (environment === undefined) return null;
  const { name, scenarios, tried, counts, may_share_process } = environment;
  const left = totalOf(counts) - findings.length;
  return (
    <section class="card-block checked" id={`environment-${index}`} aria-label={name}>
      <header class="entry-head">
        <h2>{name}</h2>
        <Counts counts={counts} />
      </header>
      <p class="quiet">{describeAdvice(may_share_process)}</p>
      {scenarios.length === 0 ? <p class="quiet">No scenario was tried.</p> : <LongText text={toTried(scenarios)} />}
      <FindingStates tried={tried} />
      {LEVELS.map((level) => {
        const found = findings.filter((finding) => finding.level === level);
        if (found.length === 0) return null;
        return (
          <section key={level} class="check-findings" aria-label={`${level}s`}>
            <h3>{countText(counts[level], level)}</h3>
            <ul>
              {found.map((finding, place) => (
                <FindingView key={place} finding={finding} hasHelp={level !== 'note' && isFirst(finding, findings)} />
              ))}
            </ul>
          </section>
        );
      })}
      {error === undefined ? null : <Failure error={error} />}
      {left <= 0 ? null : (
        <p>
          <button type="button" class="button" disabled={isReading} onClick={more}>
            {`Show ${left > MORE_FINDINGS ? `${grouped(MORE_FINDINGS)} of ` : ''}${grouped(left)} more`}
          </button>
        </p>
      )}
    </section>
  );
}

/** Advice on sharing processes; empty if it could not be tested. */
export function describeAdvice(mayShare: boolean | null): string {
  if (mayShare === null) return '';
  return mayShare ? 'Its sessions can share a process.' : 'Its sessions cannot share a process.';
}

/** True for the first finding of its name. */
function isFirst(finding: CheckFinding, findings: readonly CheckFinding[]): boolean {
  return findings.find((other) => other.finding === finding.finding) === finding;
}

function toTried(scenarios: StoredCheck['environments'][number]['scenarios']): string {
  return scenarios.map(({ name, tasks }) => `${name} (${countText(tasks, 'task')})`).join(', ');
}

function totalOf(counts: FindingCounts): number {
  return LEVELS.reduce((total, level) => total + counts[level], 0);
}

/** The findings of an environment: those of the report, and more on demand. */
function useFindings({ check_id, environments }: StoredCheck, index: number) {
  const environment = environments[index];
  const [findings, setFindings] = useState<readonly CheckFinding[]>(environment?.findings ?? []);
  const [isReading, setReading] = useState(false);
  const [error, setError] = useState<unknown>();
  const [gone] = useState(() => new AbortController());
  useEffect(() => () => gone.abort(), []);
  const name = environment?.name ?? '';
  /** Its index among the environments of the same name. */
  const place = environments.slice(0, index).filter((other) => other.name === name).length;
  const more = async () => {
    setReading(true);
    setError(undefined);
    try {
      const { signal } = gone;
      setFindings(await readMore({ checkId: check_id, name, place, known: findings.length }, signal));
    } catch (reason) {
      if (!gone.signal.aborted) setError(reason);
    } finally {
      setReading(false);
    }
  };
  return { findings, isReading, error, more: () => void more() };
}

interface Reading {
  readonly checkId: string;
  readonly name: string;
  readonly place: number;
  /** Number of loaded findings. */
  readonly known: number;
}

/** Reads the findings from the first one, since it is unknown which of them the report already contained. */
async function readMore(
  { checkId, name, place, known }: Reading,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const read: CheckFinding[] = [];
  const wanted = known + MORE_FINDINGS;
  for (let cursor: string | null | undefined; cursor !== null && read.length < wanted; ) {
    const query = { env_name: name, ...(cursor === undefined ? {} : { cursor }) };
    const page: StoredCheck = await service.checks.get(checkId, query, { signal });
    read.push(...(page.environments[place]?.findings ?? []));
    cursor = page.next_cursor;
  }
  return read.slice(0, wanted);
}
