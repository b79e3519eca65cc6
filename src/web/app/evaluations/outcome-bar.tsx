import { grouped } from '../../../support/text/figures.ts';
import { isGraded } from '../../evaluations/evaluation-data.ts';
import { LOOKS, stateOf, type Tone, toneOf } from './states.ts';

interface Part {
  readonly tone: Tone;
  readonly title: string;
  readonly count: number;
}

/** Attempts by what came of them, as one bar: what passed, what did not, and what has no reward. */
export function OutcomeBar({
  counts,
  passed,
}: {
  readonly counts: Readonly<Record<string, number>>;
  readonly passed: number;
}) {
  const parts = toParts(counts, passed);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  const said = parts.map(({ title, count }) => `${grouped(count)} ${title}`).join(', ');
  return (
    <span class="outcome-bar" role="img" aria-label={said} title={said}>
      {parts.map(({ tone, title, count }) => (
        <span key={title} class={tone} style={{ width: `${((count / total) * 100).toFixed(2)}%` }} />
      ))}
    </span>
  );
}

function toParts(counts: Readonly<Record<string, number>>, passed: number): readonly Part[] {
  const states = Object.entries(counts).map(([letter, count]) => ({ state: stateOf(letter), count }));
  const rewarded = states.filter(({ state }) => isGraded(state)).reduce((sum, { count }) => sum + count, 0);
  const others = states
    .filter(({ state }) => !isGraded(state))
    .map(({ state, count }) => ({ tone: toneOf(state, null, 0), title: LOOKS[state].title, count }));
  return [
    { tone: 'full' as const, title: 'passed', count: passed },
    { tone: 'zero' as const, title: 'below the threshold', count: rewarded - passed },
    ...others,
  ].filter(({ count }) => count > 0);
}
