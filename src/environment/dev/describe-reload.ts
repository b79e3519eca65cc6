import type { Reloaded } from './reload-relay.ts';

/** The lines that tell the developer about a reload: the changed files, the duration, and what was lost. */
export function describeReload(changed: string, tookMs: number, outcomes: readonly Reloaded[]): string[] {
  const replaced = outcomes.filter((outcome) => outcome.kind === 'replaced');
  const used = replaced.filter(({ isUsed }) => isUsed);
  const scenarios = replaced.flatMap(({ scenario }) => (scenario === undefined ? [] : [scenario]));
  const lines = [`Reloaded in ${Math.round(tookMs)} ms: ${changed}.`];
  if (used.length > 0) {
    lines.push(`${count(used.length)} lost what the fields of the old instance held.`);
  }
  if (scenarios.length > 0) {
    const names = [...new Set(scenarios)].map((name) => JSON.stringify(name)).join(', ');
    lines.push(`${count(scenarios.length)} lost its active scenario (${names}): set it up again.`);
  }
  for (const outcome of outcomes) {
    if (outcome.kind === 'kept') lines.push(`A session stays with the version before: ${outcome.reason}.`);
  }
  return lines;
}

function count(sessions: number): string {
  return sessions === 1 ? 'A session' : `${sessions} sessions each`;
}
