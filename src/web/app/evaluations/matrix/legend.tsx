import type { MatrixPage } from '../../../evaluations/evaluation-data.ts';
import { CELL_LETTERS, CELL_STATES, isGraded } from '../../../evaluations/evaluation-data.ts';
import { LOOKS, toneOf } from '../states.ts';

/** The signs of the cells: colour is the reward, a letter is how the attempt ended. */
export function Legend({ page: { models, pass_threshold: threshold } }: { readonly page: MatrixPage }) {
  const present = CELL_STATES.filter(
    (state) => state !== 'graded' && models.some(({ counts }) => (counts[CELL_LETTERS[state]] ?? 0) > 0),
  );
  return (
    <ul class="legend" aria-label="Signs">
      <Entry tone="full" sign="✓" title={`reward ≥ ${threshold}`} />
      <Entry tone="part" sign=".50" title="between" />
      <Entry tone="zero" sign="✕" title="0" />
      {present.map((state) => (
        <Entry
          key={state}
          tone={isGraded(state) ? 'plain' : toneOf(state, null, threshold)}
          sign={LOOKS[state].sign}
          title={LOOKS[state].title}
          meaning={LOOKS[state].meaning}
        />
      ))}
    </ul>
  );
}

function Entry(props: {
  readonly tone: string;
  readonly sign: string;
  readonly title: string;
  readonly meaning?: string;
}) {
  return (
    <li title={props.meaning}>
      <span class={`cell ${props.tone}`} aria-hidden="true">
        {props.sign}
      </span>
      {props.title}
    </li>
  );
}
